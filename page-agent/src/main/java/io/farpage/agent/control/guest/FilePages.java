package io.farpage.agent.control.guest;

import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.PosixException;
import io.farpage.linux.SharedMemory;
import io.farpage.linux.SystemCall;
import io.farpage.linux.uffd.HugetlbPages;
import io.farpage.linux.uffd.MemoryFile;
import io.farpage.linux.uffd.PresentPages;
import java.util.Optional;

/** Which pages a guest's memory file has. */
final class FilePages {
    private FilePages() {}

    /** Asks. */
    @FunctionalInterface
    interface Question {
        /** Returns why the answer is of no use; empty if it is. */
        Optional<String> ask(PresentPages pages);
    }

    /** Why the file cannot tell which of its pages it has; empty if it can. */
    static Optional<String> obstacle(int file, int pageBytes) {
        SystemCall own = SharedMemory.pageBytes(file);
        if (!own.succeeded() || own.value() != pageBytes) {
            return Optional.of("its pages have %d bytes, and those of its memory file %s"
                    .formatted(pageBytes, own.succeeded() ? own.value() : "cannot be asked: " + own.error()));
        }
        long last = MemoryFile.lengthOf(file) - pageBytes;
        return ask(file, 0, pageBytes, pages -> {
            // One page: the file may have terabytes.
            long found = pages.nextHole(last);
            return found < 0 && found != -Errno.ENXIO
                    ? Optional.of("its memory file does not tell which pages it has: " + ErrnoName.of((int) -found))
                    : Optional.empty();
        });
    }

    /**
     * Asks a file.
     *
     * @param start where offsets count from
     * @return why it cannot be asked, or what the question returns
     */
    static Optional<String> ask(int file, long start, int pageBytes, Question question) {
        if (pageBytes == GuestRecord.SMALL_PAGE) {
            try (MemoryFile pages = MemoryFile.adopt(file).from(start)) {
                return question.ask(pages);
            }
        }
        try (HugetlbPages pages = HugetlbPages.open(file, start, pageBytes)) {
            return question.ask(pages);
        } catch (PosixException e) {
            return Optional.of("its memory file does not tell which pages it has: " + e.getMessage());
        }
    }
}
