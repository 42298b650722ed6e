package io.farpage.agent.control.guest;

import io.farpage.linux.PollSet;
import io.farpage.linux.uffd.MemoryFile;
import io.farpage.linux.uffd.Userfaultfd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Checks the descriptors that a VMM sent, before anything is done with them. */
final class Descriptors {
    private Descriptors() {}

    /**
     * Checks that they are the userfaultfds of the slices, in order, and then, if there is one more, the file behind
     * the memory.
     *
     * @throws HandoffException saying which is missing or is something else
     */
    static void check(List<Integer> descriptors, List<Slice> slices) throws HandoffException {
        int count = slices.size();
        if (descriptors.size() < count || descriptors.size() > count + 1) {
            throw new HandoffException(
                    "%d descriptors came with the message; send %s and, to allow eviction, then the memfd"
                            .formatted(
                                    descriptors.size(),
                                    count == 1 ? "the userfaultfd" : "the " + count + " userfaultfds that it names"));
        }
        List<Object> seen = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            requireUserfaultfd(i, descriptors.get(i));
            requireMessages(i, descriptors.get(i), descriptors.size() > count);
            Object inode = inode(descriptors.get(i));
            if (seen.contains(inode)) {
                throw new HandoffException("descriptor %d is the same userfaultfd as descriptor %d; open one for each"
                        .formatted(i + 1, seen.indexOf(inode) + 1));
            }
            seen.add(inode);
        }
        if (descriptors.size() > count) {
            requireBacking(count, descriptors.get(count), slices);
        }
    }

    private static void requireUserfaultfd(int index, int fd) throws HandoffException {
        String what = target(fd);
        if (!what.equals("anon_inode:[userfaultfd]")) {
            throw new HandoffException("descriptor %d is %s, not a userfaultfd".formatted(index + 1, what));
        }
        PollSet poll = new PollSet(1);
        poll.add(fd, PollSet.POLLIN);
        poll.await(0);
        if ((poll.ready(0) & PollSet.POLLERR) != 0) {
            throw new HandoffException(("descriptor %d, a userfaultfd, is not usable: open it with O_NONBLOCK and do"
                            + " UFFDIO_API before handing it over")
                    .formatted(index + 1));
        }
    }

    /** Refuses features by which the kernel does not report what the agent must know. */
    private static void requireMessages(int index, int fd, boolean isEvictable) throws HandoffException {
        long features = Userfaultfd.featuresOf(fd).orElse(0);
        if ((features & Userfaultfd.FEATURE_SIGBUS) != 0) {
            throw new HandoffException(
                    ("descriptor %d, a userfaultfd, has UFFD_FEATURE_SIGBUS, so missing pages end the"
                                    + " VMM instead of being requested; open it without that feature")
                            .formatted(index + 1));
        }
        if (isEvictable && (features & Userfaultfd.FEATURE_WP_ASYNC) != 0) {
            throw new HandoffException(("descriptor %d, a userfaultfd, has UFFD_FEATURE_WP_ASYNC, so stores to clean"
                            + " pages are not reported, and eviction would lose them; open it without that feature"
                            + " (e2b's Firecracker: \"use_sync_wp\": true), or send no memory file")
                    .formatted(index + 1));
        }
    }

    private static void requireBacking(int index, int fd, List<Slice> slices) throws HandoffException {
        // Not adopted: the caller closes it if it is refused.
        String what = target(fd);
        if (!MemoryFile.isMemory(fd)) {
            throw new HandoffException(
                    ("descriptor %d is %s, not a memory file: send a memfd, or a regular file on tmpfs or hugetlbfs,"
                                    + " whose pages need no file server")
                            .formatted(index + 1, what));
        }
        Optional<String> obstacle = MemoryFile.obstacleToPunching(fd);
        if (obstacle.isPresent()) {
            throw new HandoffException("no page can be evicted from the memory file %s: descriptor %d %s"
                    .formatted(what, index + 1, obstacle.get()));
        }
        long length = MemoryFile.lengthOf(fd);
        long needed = slices.stream().mapToLong(Slice::mappedEnd).max().orElse(0);
        if (length < needed) {
            throw new HandoffException(
                    "the memory file %s has %d bytes, the regions reach up to %d".formatted(what, length, needed));
        }
    }

    private static String target(int fd) throws HandoffException {
        try {
            return Files.readSymbolicLink(path(fd)).toString();
        } catch (IOException e) {
            throw new HandoffException("descriptor " + fd + " cannot be inspected: " + e);
        }
    }

    /** Tells userfaultfds apart: each has an inode of its own (Linux 5.12). */
    private static Object inode(int fd) throws HandoffException {
        try {
            return Files.getAttribute(path(fd), "unix:ino");
        } catch (IOException e) {
            throw new HandoffException("descriptor " + fd + " cannot be inspected: " + e);
        }
    }

    private static Path path(int fd) {
        return Path.of("/proc/self/fd/" + fd);
    }
}
