package io.farpage.linux;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;

/**
 * A directory in which the entries that matter have numbers for names, such as {@code /proc/PID/fd} (open(2),
 * getdents64(2), readlinkat(2)). It stays the directory that was opened: one of a process that has ended is never that
 * of another process with the same id. Calls return a negative error number on failure. One thread at a time.
 */
public final class DirectoryFd implements AutoCloseable {
    private static final int O_DIRECTORY_CLOEXEC = 0x80000 | (isX86() ? 0x10000 : 0x4000);
    private static final int O_CLOEXEC = 0x80000;
    private static final int SEEK_SET = 0;
    private static final int BUFFER = 32 << 10;
    private static final int MAX_NUMBER = 16;
    private static final int RECORD_LENGTH = 16;
    private static final int NAME = 19;

    private static final MethodHandle openat$mh =
            Libc.capturing("openat", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT), 3);
    private static final MethodHandle getdents64$mh =
            Libc.capturing("getdents64", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle lseek$mh =
            Libc.capturing("lseek", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT));
    private static final MethodHandle readlinkat$mh =
            Libc.capturing("readlinkat", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));

    private final int fd;
    private final Errno errno = Errno.create();
    private final Arena arena = Arena.ofAuto();
    /** Empty until the directory is listed: most are only searched. */
    private MemorySegment entries = MemorySegment.NULL;

    private final MemorySegment name = arena.allocate(MAX_NUMBER);
    private int[] numbers = new int[64];
    private boolean closed;

    private DirectoryFd(int fd) {
        this.fd = fd;
    }

    private static boolean isX86() {
        return System.getProperty("os.arch", "").equals("amd64");
    }

    /**
     * Opens a directory.
     *
     * @throws PosixException naming it, if that cannot be
     */
    public static DirectoryFd open(String path) {
        Errno errno = Errno.create();
        try (Arena arena = Arena.ofConfined()) {
            int fd = (int) openat$mh.invokeExact(
                    errno.segment(), -1, arena.allocateFrom(path).address(), O_DIRECTORY_CLOEXEC);
            return new DirectoryFd(errno.require(fd, "open(" + path + ")"));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /**
     * Reads the names that are numbers; they are in {@link #number} until the next call. Returns how many, or a
     * negative error number.
     */
    public int list() {
        if (entries.byteSize() == 0) {
            entries = arena.allocate(BUFFER, Long.BYTES);
        }
        int count = 0;
        try {
            long rewound = (long) lseek$mh.invokeExact(errno.segment(), fd, 0L, SEEK_SET);
            if (rewound < 0) {
                return (int) errno.check(rewound);
            }
            while (true) {
                // SAFETY: entries has BUFFER bytes and lives as long as this.
                long got = errno.check(
                        (long) getdents64$mh.invokeExact(errno.segment(), fd, entries.address(), (long) BUFFER));
                if (got <= 0) {
                    return got < 0 ? (int) got : count;
                }
                for (long at = 0;
                        at < got;
                        at += Short.toUnsignedInt(entries.get(JAVA_SHORT_UNALIGNED, at + RECORD_LENGTH))) {
                    int number = parse(at + NAME);
                    if (number >= 0) {
                        numbers = count < numbers.length ? numbers : Arrays.copyOf(numbers, 2 * count);
                        numbers[count++] = number;
                    }
                }
            }
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    private int parse(long at) {
        int number = 0;
        int digits = 0;
        for (byte b = entries.get(JAVA_BYTE, at); b != 0; b = entries.get(JAVA_BYTE, at + digits)) {
            if (b < '0' || b > '9' || digits > 9) {
                return -1;
            }
            number = number * 10 + b - '0';
            digits++;
        }
        return digits == 0 ? -1 : number;
    }

    /** The {@code index}th of what {@link #list} read. */
    public int number(int index) {
        return numbers[index];
    }

    /**
     * Reads where the link of this name leads. Bytes in {@code target}, cut where it is full, or a negative error
     * number.
     */
    public int readLink(int number, MemorySegment target) {
        try {
            // SAFETY: the name is within its segment; at most byteSize() bytes are written to target.
            return (int) errno.check((long)
                    readlinkat$mh.invokeExact(errno.segment(), fd, name(number), target.address(), target.byteSize()));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Reads the beginning of the file of this name. Bytes in {@code content}, or a negative error number. */
    public int readFile(int number, MemorySegment content) {
        return readFile(name(number), content);
    }

    /** As above; the name is a C string. */
    public int readFile(MemorySegment file, MemorySegment content) {
        return readFile(file.address(), content);
    }

    private int readFile(long path, MemorySegment content) {
        try {
            // SAFETY: a C string is at the path; at most byteSize() bytes are written to content.
            int file = errno.check((int) openat$mh.invokeExact(errno.segment(), fd, path, O_CLOEXEC));
            if (file < 0) {
                return file;
            }
            // One read(2) of a file of /proc gives what fits of it.
            int got = (int) FileIo.read(errno, file, content.address(), content.byteSize());
            FileIo.close(errno, file);
            return got;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** The number as a C string. */
    private long name(int number) {
        int at = MAX_NUMBER - 1;
        name.set(JAVA_BYTE, at, (byte) 0);
        int left = number;
        do {
            name.set(JAVA_BYTE, --at, (byte) ('0' + left % 10));
            left /= 10;
        } while (left > 0);
        return name.address() + at;
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            FileIo.close(errno, fd);
        }
    }
}
