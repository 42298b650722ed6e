package io.farpage.guest.vmm;

import static io.farpage.guest.vmm.Register.R10;
import static io.farpage.guest.vmm.Register.R11;
import static io.farpage.guest.vmm.Register.R12;
import static io.farpage.guest.vmm.Register.R13;
import static io.farpage.guest.vmm.Register.R8;
import static io.farpage.guest.vmm.Register.R9;
import static io.farpage.guest.vmm.Register.RAX;
import static io.farpage.guest.vmm.Register.RCX;
import static io.farpage.guest.vmm.Register.RDI;
import static io.farpage.guest.vmm.Register.RDX;
import static io.farpage.guest.vmm.Register.RSI;

import io.farpage.guest.vmm.Assembler.Condition;
import io.farpage.guest.vmm.Assembler.Label;

/**
 * The guest's program for one pass of one vCPU, everything that it has to know baked in. In C:
 *
 * {@snippet lang = c:
 * for (visited = 0; visited < count; visited++) {
 *     page = walk();
 *     for (word = page * 4096; word < page * 4096 + 4096; word += spacing) {
 *         if (*word != content(word) && mismatches++ == 0) { firstBad = word; found = *word; }
 *         *word = newContent(word);
 *     }
 * }
 * out(visited, mismatches, firstBad, found);
 * hlt();
 * }
 *
 * <p>RSI holds the page's number within the range, RDI the word's address, R9 the position of the walk, R10 the pages
 * visited, R11 the mismatches, R12 and R13 the first mismatch.
 */
final class GuestCode {
    /** Where the guest reports, each value as two halves of 32 bits, the low one at the even port. */
    static final int VISITED_PORT = 0x10;

    static final int MISMATCHES_PORT = 0x12;
    static final int FIRST_BAD_PORT = 0x14;
    static final int FOUND_PORT = 0x16;

    private static final int PAGE_SHIFT = 12;
    private static final int HALF = 32;

    private final Assembler code = new Assembler();
    private final PageRange range;
    private final int words;

    private GuestCode(PageRange range, int words) {
        this.range = range;
        this.words = words;
    }

    /**
     * Assembles it.
     *
     * @param words of each page to touch, a power of two up to 512, evenly spread
     * @param expected what the words must hold; looked at only by a pass that expects something
     * @param written what they shall hold; looked at only by a pass that writes
     */
    static byte[] assemble(Pass pass, Order order, PageRange range, int words, Content expected, Content written) {
        return new GuestCode(range, words).pass(pass, order, expected, written);
    }

    private byte[] pass(Pass pass, Order order, Content expected, Content written) {
        Label page = new Label();
        Label word = new Label();
        code.mov(R8, range.count());
        code.xor(R10, R10);
        code.xor(R11, R11);
        code.xor(R12, R12);
        code.xor(R13, R13);
        order.start(code, range.count());

        code.bind(page);
        code.mov(RDI, RSI);
        code.mov(RAX, range.first());
        code.add(RDI, RAX);
        code.shl(RDI, PAGE_SHIFT);
        code.mov(RCX, RDI);
        code.add(RCX, (int) PageRange.PAGE_BYTES);

        if (pass.counts()) {
            count(pass, expected);
        }
        code.bind(word);
        if (pass.counts()) {
            code.mov(RDI, RCX); // one word was enough
        } else if (pass.expects()) {
            expect(expected);
        }
        if (pass.writes()) {
            compute(RAX, written);
            code.store(RDI, RAX);
        }
        code.add(RDI, (int) PageRange.PAGE_BYTES / words);
        code.cmp(RDI, RCX);
        code.jump(Condition.BELOW, word);

        Label done = new Label();
        code.add(R10, 1);
        code.cmp(R10, R8);
        code.jump(Condition.EQUAL, done);
        order.next(code);
        code.jmp(page);

        code.bind(done);
        report(R10, VISITED_PORT);
        report(R11, MISMATCHES_PORT);
        report(R12, FIRST_BAD_PORT);
        report(R13, FOUND_PORT);
        code.hlt();
        return code.assemble();
    }

    /** Counts the page at RDI, or looks how often it was counted. */
    private void count(Pass pass, Content expected) {
        if (pass == Pass.COUNTED) {
            code.add(RDI, Long.BYTES);
            expect(expected);
            return;
        }
        Label taken = new Label();
        Label again = new Label();
        Label wait = new Label();
        code.xor(RDX, RDX);
        code.bind(again);
        code.mov(RAX, 1);
        code.xchg(RDI, RAX);
        code.cmp(RAX, RDX);
        code.jump(Condition.EQUAL, taken);
        code.bind(wait);
        code.pause();
        code.load(RAX, RDI);
        code.cmp(RAX, RDX);
        code.jump(Condition.NOT_EQUAL, wait);
        code.jmp(again);

        code.bind(taken);
        code.add(RDI, Long.BYTES);
        code.load(RAX, RDI);
        code.add(RAX, 1);
        code.store(RDI, RAX);
        code.add(RDI, -Long.BYTES);
        code.store(RDI, RDX);
    }

    private void expect(Content expected) {
        Label done = new Label();
        compute(RAX, expected);
        code.load(RDX, RDI);
        code.cmp(RDX, RAX);
        code.jump(Condition.EQUAL, done);
        code.add(R11, 1);
        code.mov(RAX, 1);
        code.cmp(R11, RAX);
        code.jump(Condition.NOT_EQUAL, done);
        code.mov(R12, RDI);
        code.mov(R13, RDX);
        code.bind(done);
    }

    private void compute(Register result, Content content) {
        code.mov(result, content.factor());
        code.imul(result, RDI);
        code.mov(RDX, content.summand());
        code.add(result, RDX);
    }

    private void report(Register value, int port) {
        code.mov(RAX, value);
        code.outEax(port);
        code.shr(RAX, HALF);
        code.outEax(port + 1);
    }

    /** Code that gives the walk's page numbers in RSI, within the range from 0; it may use RAX, RCX, RDX and R9. */
    sealed interface Order {
        /** Sets RSI to the first. */
        void start(Assembler code, long count);

        /** Sets RSI to the next. */
        void next(Assembler code);
    }

    /**
     * From a page to the next, {@code distance} further, around the end again.
     *
     * @param distance from 1 to less than the count, with no divisor in common with it; 1 if the count is 1
     */
    record Steps(long distance) implements Order {
        /** The first distance from {@code wanted} on that leads to every one of {@code count} pages. */
        static Steps nearest(long wanted, long count) {
            if (count <= 2) {
                return new Steps(1);
            }
            long distance = Math.max(1, wanted % count);
            while (gcd(distance, count) != 1) {
                distance++;
            }
            return new Steps(distance);
        }

        private static long gcd(long a, long b) {
            return b == 0 ? a : gcd(b, a % b);
        }

        @Override
        public void start(Assembler code, long count) {
            code.xor(RSI, RSI);
        }

        @Override
        public void next(Assembler code) {
            Label inside = new Label();
            code.mov(RAX, distance);
            code.add(RSI, RAX);
            code.cmp(RSI, R8);
            code.jump(Condition.BELOW, inside);
            code.sub(RSI, R8);
            code.bind(inside);
        }
    }

    /**
     * All numbers below the next power of two in a scrambled order, without those that are too large: a linear
     * congruential generator of full period (Knuth, volume 2, 3.2.1.2, theorem A), whose states pass through a
     * bijection because their low bits alone would alternate.
     */
    record Shuffle(long seed, long count) implements Order {
        private static final long MULTIPLIER = 0x5851f42d4c957f2dL; // of the form 4k + 1
        private static final long INCREMENT = 0x14057b7ef767814fL; // odd
        private static final long ODD = 0x9e3779b97f4a7c15L;

        private int bits() {
            return Long.SIZE - Long.numberOfLeadingZeros(count - 1);
        }

        private int shift() {
            return Math.max(1, bits() / 2);
        }

        private long mask() {
            return (1L << bits()) - 1;
        }

        @Override
        public void start(Assembler code, long ignored) {
            code.mov(R9, seed & mask());
            next(code);
        }

        @Override
        public void next(Assembler code) {
            Label again = new Label();
            code.mov(RCX, mask());
            code.bind(again);
            code.mov(RAX, MULTIPLIER);
            code.imul(R9, RAX);
            code.mov(RAX, INCREMENT);
            code.add(R9, RAX);
            code.and(R9, RCX);
            code.mov(RSI, R9);
            scramble(code);
            code.mov(RAX, ODD);
            code.imul(RSI, RAX);
            code.and(RSI, RCX);
            scramble(code);
            code.cmp(RSI, R8);
            code.jump(Condition.ABOVE_OR_EQUAL, again);
        }

        private void scramble(Assembler code) {
            code.mov(RAX, RSI);
            code.shr(RAX, shift());
            code.xor(RSI, RAX);
        }
    }
}
