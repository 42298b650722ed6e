package io.farpage.agent.control.pins;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A directory with what /proc/PID has of a process's descriptors: links in fd, text in fdinfo. */
final class FakeTask {
    private static final int PID = 7;
    private static final int READ_WRITE = 02;

    private final Path root;

    FakeTask(Path root) throws IOException {
        this.root = root;
        Files.createDirectories(root.resolve("fd"));
        Files.createDirectories(root.resolve("fdinfo"));
    }

    DescriptorTable open() {
        return DescriptorTable.open(PID, root.toString(), new ProcText());
    }

    /** A descriptor that is open for reading and writing. */
    FakeTask with(int number, String target) throws IOException {
        return with(number, target, READ_WRITE, "");
    }

    /**
     * A descriptor.
     *
     * @param target of the link
     * @param flags as open(2) has them
     * @param more what the driver adds to fdinfo
     */
    FakeTask with(int number, String target, int flags, String more) throws IOException {
        return with(number, target, flags, 1000L + number, more);
    }

    /** An io_uring; what it has registered follows, or nothing while it is locked. */
    FakeTask withRing(int number, long inode, String registered) throws IOException {
        return with(number, "anon_inode:[io_uring]", READ_WRITE, inode, registered);
    }

    private FakeTask with(int number, String target, int flags, long inode, String more) throws IOException {
        Path link = root.resolve("fd").resolve(Integer.toString(number));
        Files.deleteIfExists(link);
        Files.createSymbolicLink(link, Path.of(target));
        Files.writeString(info(number), "pos:\t0\nflags:\t0%o\nmnt_id:\t17\nino:\t%d\n".formatted(flags, inode) + more);
        return this;
    }

    /** A descriptor without fdinfo, as after a close between two looks. */
    FakeTask closing(int number) throws IOException {
        Files.delete(info(number));
        return this;
    }

    private Path info(int number) {
        return root.resolve("fdinfo").resolve(Integer.toString(number));
    }
}
