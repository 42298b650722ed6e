package io.farpage.agent.data.pager.model;

import java.util.ArrayList;
import java.util.List;

/**
 * Something that happens at one moment.
 *
 * @param first thread, transfer, home, page or number, as the kind has it
 * @param second page, or 0
 */
record Step(Kind kind, int first, int second) {
    static final Step AGENT = new Step(Kind.AGENT, 0, 0);
    static final Step LIFE = new Step(Kind.LIFE, 0, 0);

    /** The event, and the letter that stands for it in a schedule. */
    enum Kind {
        /** The agent runs up to its next call into the kernel. */
        AGENT('.'),
        /** An idle guest thread begins to read a page. */
        READ('r'),
        /** An idle guest thread begins to store something new. */
        WRITE('w'),
        /** An idle guest thread begins to store zeros. */
        ZERO('z'),
        /**
         * An idle guest thread begins a direct read into a page. When it continues with the page pinned, the device has
         * written.
         */
        DIRECT('d'),
        /** An inspection of pins begins. */
        INSPECT('i'),
        /** The inspection of pins that is under way ends. */
        INSPECTED('I'),
        /** An idle guest thread begins to give up a page. */
        REMOVE('b'),
        /** An idle guest thread begins to give up a page and the one after it. */
        REMOVE_TWO('B'),
        /**
         * An idle guest thread begins to give up a page with MADV_DONTNEED, and then punches it out of the file with
         * fallocate(2).
         */
        DISCARD('D'),
        /** An idle guest thread begins to give up a part of a large page. */
        REMOVE_PART('C'),
        /**
         * An idle guest thread begins to give up the second half of a large page, the page after it, and the first half
         * of the next.
         */
        REMOVE_ACROSS('X'),
        /**
         * An idle thread of the VMM begins to fork a child, which has the same memory, or a copy of it, and a thread.
         */
        FORK('y'),
        /** The child is killed. */
        CHILD_END('x'),
        /** A guest thread that was woken continues. */
        RUN('g'),
        /** A page of a transfer is carried out. */
        LAND('l'),
        /** A page of a failed WRITE reaches the home late. */
        LAND_LATE('L'),
        /** The oldest transfer with a home completes. */
        COMPLETE('c'),
        /** The link to a home breaks: all that is under way fails, carried out or not. */
        BREAK('f'),
        /** The link is made again. */
        CONNECT('u'),
        /** Transfers under way pass their deadline. */
        EXPIRE('h'),
        /** Some milliseconds pass. */
        WAIT('q'),
        /** The limit of resident pages changes. */
        RESIZE('m'),
        /** The guest is parked: {@code first} pages may be resident. */
        PARK('v'),
        /** The guest is no longer parked. */
        UNPARK('V'),
        /** The kernel unmaps a page of the guest, and keeps it in the page cache or in swap. */
        RECLAIM('k'),
        /** The kernel has memory for the given number of pages only in the next installation. */
        STARVE('o'),
        /** The VMM's mapping is split before a page, as mprotect(2) of what is behind does, or grows together there. */
        SPLIT('s'),
        /** The agent probes whether the VMM still exists. */
        PROBE('p'),
        /** A home falls silent: it carries out and completes nothing. */
        SILENCE('S'),
        /** A home that was silent answers again. */
        ANSWER('a'),
        /** A home restarts with empty memory, for good; the agent learns of it before its next duty cycle. */
        LOSE('!'),
        /** The coordinator drops one of several homes, as the agent has asked. */
        DROP('-'),
        /** The coordinator has a home join. */
        JOIN('j'),
        /** The coordinator lets the home that joins begin to copy, as the agent has said that it may. */
        PULL_BEGIN('A'),
        /** The home that joins copies the next page from a home. */
        PULL('n'),
        /** The home that joins has copied all pages, and the coordinator says so. */
        PULL_END('N'),
        /**
         * The coordinator promotes the home that joins, as the agent has asked; beside the others, or in place of the
         * one named second, counted from 1.
         */
        PROMOTE('P'),
        /** The coordinator gives a page of a thin space room, as the agent has asked. */
        ALLOCATE('t'),
        /** There is no room for pages of a thin space, until some is given. */
        REFUSE('T'),
        /** The agent stops writing to the home of a page of a thin space, if the page is zeros. */
        WITHDRAW('W'),
        /** The coordinator gives the room of such a page back. */
        GIVE_BACK('R'),
        /** The coordinator refuses that, and the agent writes there again. */
        REINSTATE('Q'),
        /** A snapshot is prepared: pages are protected while the guest runs. */
        PREPARE('M'),
        /** A snapshot begins: the VMM is paused until its pages are frozen. */
        FREEZE('F'),
        /** All pages of the snapshot are at the homes: nothing is written there from now on. */
        HAND_OVER('H'),
        /** The snapshot ends. First 1: it is made, and the guest's space is a clone of it; 0: it is not. */
        THAW('U'),
        /** The VMM is killed. */
        END('e'),
        /**
         * The agent is killed, and another one adopts what it has left. First 1: a promotion or a snapshot that the
         * agent has asked for is carried out before. Second: a home, counted from 1, is dropped meanwhile, since its
         * lease has run out.
         */
        KILL('K'),
        /** Transfers under way end, the guest ends, and another one begins with the same pages. */
        LIFE('|');

        private final char letter;

        Kind(char letter) {
            this.letter = letter;
        }

        private static Kind of(char letter) {
            for (Kind kind : values()) {
                if (kind.letter == letter) {
                    return kind;
                }
            }
            throw new IllegalArgumentException("no step is called " + letter);
        }
    }

    static Step of(Kind kind) {
        return new Step(kind, 0, 0);
    }

    static Step of(Kind kind, int first) {
        return new Step(kind, first, 0);
    }

    /** Reads what {@link #text} wrote. */
    static List<Step> parse(String schedule) {
        List<Step> steps = new ArrayList<>();
        for (String word : schedule.trim().split("\\s+")) {
            String[] numbers = word.substring(1).split("/");
            int first = word.length() == 1 ? 0 : Integer.parseInt(numbers[0]);
            int second = numbers.length < 2 ? 0 : Integer.parseInt(numbers[1]);
            steps.add(new Step(Kind.of(word.charAt(0)), first, second));
        }
        return steps;
    }

    static String text(List<Step> steps) {
        return String.join(" ", steps.stream().map(Step::toString).toList());
    }

    @Override
    public String toString() {
        return kind.letter + (second != 0 ? first + "/" + second : first != 0 ? "" + first : "");
    }
}
