package io.farpage.linux.fuse;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.Libc;
import io.farpage.linux.PosixException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/** Mounts a file system in user space, and unmounts it (mount(2), umount2(2), fuse(4)). Needs CAP_SYS_ADMIN. */
public final class FuseMounts {
    /** The type of the file system, as {@code /proc/mounts} has it. */
    public static final String TYPE = "fuse.farpage";

    private static final String DEVICE = "/dev/fuse";
    private static final int O_RDWR_CLOEXEC = 0x80002;
    private static final long MS_RDONLY = 1;
    private static final long MS_NOSUID = 2;
    private static final long MS_NODEV = 4;
    private static final long MS_NOEXEC = 8;
    private static final int MNT_DETACH = 2;

    private static final MethodHandle mount$mh = Libc.capturing(
            "mount", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle umount2$mh =
            Libc.capturing("umount2", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT));

    private FuseMounts() {}

    /**
     * Mounts a read-only file system, whose files all users may open as far as the files' permissions allow it.
     *
     * @param source first column of {@code /proc/mounts}
     * @return the descriptor on which the file system is served. The file system ends with the last copy of it
     * @throws PosixException naming the device or the directory
     */
    public static int mount(String source, Path directory) {
        Errno errno = Errno.create();
        int fd = FileIo.open(errno, DEVICE, O_RDWR_CLOEXEC);
        if (fd < 0) {
            throw new PosixException("open(" + DEVICE + ")", -fd);
        }
        boolean done = false;
        try (Arena arena = Arena.ofConfined()) {
            String options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions".formatted(fd);
            int result = (int) mount$mh.invokeExact(
                    errno.segment(),
                    arena.allocateFrom(source).address(),
                    arena.allocateFrom(directory.toString()).address(),
                    arena.allocateFrom(TYPE).address(),
                    MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                    arena.allocateFrom(options).address());
            errno.require(result, "mount(" + directory + ")");
            done = true;
            return fd;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        } finally {
            if (!done) {
                FileIo.close(errno, fd);
            }
        }
    }

    /**
     * Removes a file system from the directory tree. Files that are open stay open. Returns 0 or a negative error
     * number.
     */
    public static int unmount(Path directory) {
        Errno errno = Errno.create();
        try (Arena arena = Arena.ofConfined()) {
            return errno.check((int) umount2$mh.invokeExact(
                    errno.segment(), arena.allocateFrom(directory.toString()).address(), MNT_DETACH));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
