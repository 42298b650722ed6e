package io.farpage.guest.vmm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.guest.command.CommandException;
import io.farpage.guest.vmm.GuestCode.Order;
import io.farpage.guest.vmm.GuestMemory.Backing;
import io.farpage.linux.uffd.MemoryFile;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Guests on this machine's KVM, whose memory the test looks at through its memfd. */
final class GuestCodeTest {
    private static final int PAGE = (int) PageRange.PAGE_BYTES;
    private static final long PAGES = 37; // neither a power of two nor next to one
    private static final Content CONTENT = Content.written(11, 1);

    private Optional<GuestMemory> mapped = Optional.empty();
    private Optional<VirtualMachine> created = Optional.empty();

    @BeforeEach
    void create() {
        Optional<String> whyNot = Kvm.whyNot();
        assumeTrue(whyNot.isEmpty(), () -> "no KVM: " + whyNot.orElseThrow());
        GuestMemory memory = GuestMemory.map(Backing.MEMFD, PAGES * PAGE);
        mapped = Optional.of(memory);
        created = Optional.of(VirtualMachine.create(memory, 1));
    }

    @AfterEach
    void destroy() {
        created.ifPresent(VirtualMachine::close);
        mapped.ifPresent(GuestMemory::close);
    }

    static List<Order> orders() {
        return List.of(
                new GuestCode.Steps(1),
                GuestCode.Steps.nearest(17, PAGES),
                GuestCode.Steps.nearest(37, PAGES),
                new GuestCode.Shuffle(5, PAGES));
    }

    @ParameterizedTest
    @MethodSource("orders")
    void shouldWriteEveryPageOnceInAnyOrder(Order order) {
        GuestReport report = run(Pass.WRITE, order, new PageRange(0, PAGES), 2);

        assertEquals(PAGES, report.visited());
        for (long page = 0; page < PAGES; page++) {
            for (int at = 0; at < PAGE; at += 8) {
                long expected = at % (PAGE / 2) == 0 ? CONTENT.at(page * PAGE + at) : 0;
                assertEquals(expected, word(page * PAGE + at), "page " + page + ", byte " + at);
            }
        }
    }

    @Test
    void shouldCountEachPageUnderItsLock() {
        PageRange all = new PageRange(0, PAGES);
        for (int i = 0; i < 3; i++) {
            assertEquals(PAGES, run(Pass.COUNT, new GuestCode.Steps(1), all, 1).visited());
        }
        for (long page = 0; page < PAGES; page++) {
            assertEquals(0, word(page * PAGE), "the lock of page " + page);
            assertEquals(3, word(page * PAGE + 8), "the count of page " + page);
        }
        assertEquals(0, runCounted(3).mismatches());
        assertEquals(PAGES, runCounted(4).mismatches());
    }

    private GuestReport runCounted(long expected) {
        GuestReport report = new GuestReport();
        byte[] program = GuestCode.assemble(
                Pass.COUNTED,
                new GuestCode.Steps(1),
                new PageRange(0, PAGES),
                1,
                new Content(0, expected),
                Content.ZEROS);
        vcpu().run(program, report);
        return report;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 64, 512})
    void shouldTouchAsManyWordsOfAPageAsAsked(int words) {
        run(Pass.WRITE, new GuestCode.Steps(1), new PageRange(3, 1), words);

        int touched = 0;
        for (int at = 0; at < PAGE; at += 8) {
            touched += word(3 * PAGE + at) == 0 ? 0 : 1;
        }
        assertEquals(words, touched);
    }

    @ParameterizedTest
    @CsvSource({"0, 1", "36, 1", "5, 2", "1, 36"})
    void shouldKeepToItsShareOfThePages(long first, long count) {
        run(Pass.WRITE, new GuestCode.Shuffle(1, count), new PageRange(first, count), 1);

        for (long page = 0; page < PAGES; page++) {
            assertEquals(page >= first && page < first + count, word(page * PAGE) != 0, "page " + page);
        }
    }

    @Test
    void shouldFindEveryWordThatIsWrongAndDescribeTheFirst() throws IOException {
        PageRange all = new PageRange(0, PAGES);
        run(Pass.WRITE, new GuestCode.Steps(1), all, 512);
        assertEquals(
                0, run(Pass.READ, new GuestCode.Shuffle(2, PAGES), all, 512).mismatches());
        put(9 * PAGE + 4088, 0xbadL);
        put(30 * PAGE, word(29 * PAGE));

        GuestReport report = run(Pass.READ, new GuestCode.Steps(1), all, 512);

        assertEquals(2, report.mismatches());
        assertEquals(
                "page 9 holds 0xbad at byte 4088, expected 0x" + Long.toHexString(CONTENT.at(9 * PAGE + 4088)),
                report.firstMismatch(CONTENT));
    }

    @Test
    void shouldLeavePagesAsTheyAreUnlessThePassWrites() {
        PageRange all = new PageRange(0, PAGES);
        GuestReport zeros = run(Pass.ZEROS, new GuestCode.Steps(1), all, 512);
        assertEquals(PAGES * 512, zeros.mismatches(), "the content is not zeros");
        assertEquals(0, word(0));

        Content before = Content.written(11, 0);
        GuestReport modified = new GuestReport();
        byte[] program = GuestCode.assemble(Pass.MODIFY, new GuestCode.Steps(1), all, 1, before, CONTENT);
        vcpu().run(program, modified);
        assertEquals(PAGES, modified.mismatches(), "they held zeros");
        assertEquals(CONTENT.at(0), word(0));
    }

    @Test
    void shouldNameTheAddressWhenAGuestTouchesNoMemory() {
        Assembler code = new Assembler();
        code.mov(Register.RDI, PAGES * PAGE);
        code.load(Register.RAX, Register.RDI);
        code.hlt();

        CommandException e = assertThrows(CommandException.class, () -> vcpu().run(code.assemble(), new GuestReport()));

        assertTrue(String.valueOf(e.getMessage()).contains("0x" + Long.toHexString(PAGES * PAGE)), e.getMessage());
    }

    private GuestReport run(Pass pass, Order order, PageRange range, int words) {
        GuestReport report = new GuestReport();
        vcpu().run(GuestCode.assemble(pass, order, range, words, CONTENT, CONTENT), report);
        return report;
    }

    private Vcpu vcpu() {
        return created.orElseThrow().vcpus().getFirst();
    }

    private MemoryFile file() {
        return mapped.flatMap(GuestMemory::file).orElseThrow();
    }

    private long word(long at) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment word = arena.allocate(8, 8);
            assertEquals(8, file().read(at, word.address(), 8));
            return word.get(ValueLayout.JAVA_LONG, 0);
        }
    }

    private void put(long at, long value) throws IOException {
        try (RandomAccessFile random = new RandomAccessFile("/proc/self/fd/" + file().fd(), "rw")) {
            random.seek(at);
            random.writeLong(Long.reverseBytes(value));
        }
    }
}
