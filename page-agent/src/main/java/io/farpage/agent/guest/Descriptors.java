package io.farpage.agent.guest;

import io.farpage.agent.pager.GuestRegion;
import io.farpage.agent.uffd.MemoryFile;
import io.farpage.posix.PollSet;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Looks at the descriptors that a VMM sent before anything is done with them. */
final class Descriptors {
    private Descriptors() {}

    /**
     * Checks that they are a userfaultfd and, perhaps, the file behind the regions.
     *
     * @throws HandoffException saying which is missing or is something else
     */
    static void check(List<Integer> descriptors, List<GuestRegion> regions) throws HandoffException {
        if (descriptors.isEmpty() || descriptors.size() > 2) {
            throw new HandoffException(descriptors.size()
                    + " descriptors came with the message; send the userfaultfd and, to allow eviction, the memfd");
        }
        int uffd = descriptors.getFirst();
        String what = target(uffd);
        if (!what.equals("anon_inode:[userfaultfd]")) {
            throw new HandoffException("the first descriptor is " + what + ", not a userfaultfd");
        }
        requireInitialized(uffd);
        if (descriptors.size() == 2) {
            requireBacking(descriptors.get(1), regions);
        }
    }

    private static void requireInitialized(int uffd) throws HandoffException {
        PollSet poll = new PollSet(1);
        poll.add(uffd, PollSet.POLLIN);
        poll.await(0);
        if ((poll.ready(0) & PollSet.POLLERR) != 0) {
            throw new HandoffException(
                    "the userfaultfd is not usable: open it with O_NONBLOCK and do UFFDIO_API before handing it over");
        }
    }

    private static void requireBacking(int fd, List<GuestRegion> regions) throws HandoffException {
        // Not adopted: the caller closes it if it is refused.
        long length = MemoryFile.lengthOf(fd);
        String what = target(fd);
        if (length < 0 || !what.startsWith("/")) {
            throw new HandoffException("the second descriptor is " + what + ", not a memory file");
        }
        long needed = regions.stream().mapToLong(GuestRegion::end).max().orElse(0);
        if (length < needed) {
            throw new HandoffException(
                    "the memory file %s has %d bytes, the regions reach up to %d".formatted(what, length, needed));
        }
    }

    private static String target(int fd) throws HandoffException {
        try {
            return Files.readSymbolicLink(Path.of("/proc/self/fd/" + fd)).toString();
        } catch (IOException e) {
            throw new HandoffException("descriptor " + fd + " cannot be looked at: " + e);
        }
    }
}
