package io.farpage.agent.pins;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.farpage.agent.pins.Finding.Kind;
import io.farpage.posix.DirectoryFd;
import io.farpage.posix.Errno;
import io.farpage.posix.ErrnoName;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.BitSet;

/**
 * The open descriptors of a task, as /proc shows them (proc_pid_fd(5), proc_pid_fdinfo(5)). One thread.
 *
 * <p>A look is not one moment. A descriptor that is open from its beginning to its end is found even if it moves to another number: numbers
 * that are new at the end are looked at, and one that vanished before it was looked at makes the look inconclusive.
 */
final class DescriptorTable implements AutoCloseable {
    private static final int O_DIRECT = System.getProperty("os.arch", "").equals("aarch64") ? 0x10000 : 0x4000;
    private static final int ROUNDS = 8;
    private static final int LINK_BYTES = 512;
    private static final int INFO_BYTES = 64 << 10;
    private static final byte[] IO_URING = ascii("anon_inode:[io_uring]");
    private static final byte[] VFIO = ascii("anon_inode:[vfio");
    private static final byte[] IOMMUFD = ascii("anon_inode:[iommufd");
    private static final byte[] SOCKET = ascii("socket:");
    private static final byte[] FLAGS = ascii("flags:\t");
    private static final byte[] USER_FILES = ascii("UserFiles:\t");
    private static final byte[] USER_BUFFERS = ascii("UserBufs:\t");
    private static final byte[] UDMABUF = ascii("exp_name:\tudmabuf");

    private final int process;
    private final String path;
    private final DirectoryFd links;
    private final DirectoryFd infos;
    private final BitSet seen = new BitSet();
    private final MemorySegment link = Arena.ofAuto().allocate(LINK_BYTES);
    private final MemorySegment info = Arena.ofAuto().allocate(INFO_BYTES);
    private int linkLength;
    private int infoLength;

    private DescriptorTable(int process, String path, DirectoryFd links, DirectoryFd infos) {
        this.process = process;
        this.path = path;
        this.links = links;
        this.infos = infos;
    }

    /**
     * Opens the table of a task.
     *
     * @param process for messages
     * @param task such as {@code /proc/7} or {@code /proc/7/task/8}
     * @throws io.farpage.posix.PosixException if the task is gone, or may not be looked at
     */
    static DescriptorTable open(int process, String task) {
        DirectoryFd links = DirectoryFd.open(task + "/fd");
        try {
            return new DescriptorTable(process, task + "/fd/", links, DirectoryFd.open(task + "/fdinfo"));
        } catch (RuntimeException e) {
            links.close();
            throw e;
        }
    }

    /** Looks at all descriptors, until one is found that may pin memory. */
    Finding look() {
        seen.clear();
        for (int round = 0; round < ROUNDS; round++) {
            int count = links.list();
            if (count < 0) {
                return failure(count);
            }
            boolean settled = true;
            for (int i = 0; i < count; i++) {
                int number = links.number(i);
                if (!seen.get(number)) {
                    settled = false;
                    seen.set(number);
                    Finding found = look(number);
                    if (!found.isClear()) {
                        return found;
                    }
                }
            }
            if (settled) {
                return seen.isEmpty() ? Finding.EMPTY : Finding.CLEAR;
            }
        }
        return new Finding(
                Kind.CHANGING, "process " + process + " opens descriptors faster than they can be looked at");
    }

    private Finding look(int number) {
        linkLength = links.readLink(number, link);
        if (linkLength < 0) {
            return failure(linkLength);
        }
        if (link.get(JAVA_BYTE, 0) == '/') {
            return lookAtFile(number);
        }
        if (startsWith(IO_URING)) {
            return lookAtRing(number);
        }
        if (startsWith(VFIO) || startsWith(IOMMUFD)) {
            return lasting(number, "it belongs to VFIO, which pins memory");
        }
        if (startsWith(SOCKET) && SocketProtocol.isXdp(path + number)) {
            return lasting(number, "it is an AF_XDP socket, which may pin memory");
        }
        return Finding.CLEAR;
    }

    private Finding lookAtFile(int number) {
        String lasting = Devices.pinning(link, linkLength);
        if (!lasting.isEmpty()) {
            return lasting(number, lasting);
        }
        infoLength = infos.readFile(number, info);
        if (infoLength < 0) {
            return failure(infoLength);
        }
        long flags = number(FLAGS, 8);
        if (flags < 0) {
            return new Finding(
                    Kind.UNREADABLE, "/proc says no flags of descriptor " + number + " of process " + process);
        }
        if ((flags & O_DIRECT) != 0) {
            return new Finding(Kind.DIRECT_IO, describe(number) + " is open for direct I/O (O_DIRECT)");
        }
        return find(UDMABUF) >= 0 ? lasting(number, "it is made of pinned pages (udmabuf)") : Finding.CLEAR;
    }

    private Finding lookAtRing(int number) {
        infoLength = infos.readFile(number, info);
        if (infoLength < 0) {
            return failure(infoLength);
        }
        long files = number(USER_FILES, 10);
        long buffers = number(USER_BUFFERS, 10);
        if (buffers > 0) {
            return lasting(number, "it has registered buffers, which are pinned");
        }
        if (files > 0) {
            return new Finding(
                    Kind.DIRECT_IO, describe(number) + " has registered files, the flags of which cannot be seen");
        }
        // While the ring is locked by a call of its owner, /proc says nothing of it.
        return buffers < 0 || files < 0
                ? new Finding(Kind.CHANGING, describe(number) + " is busy, so that its buffers cannot be seen")
                : Finding.CLEAR;
    }

    private Finding lasting(int number, String why) {
        return new Finding(Kind.LASTING, describe(number) + ": " + why);
    }

    private Finding failure(int error) {
        return switch (-error) {
            case Errno.ENOENT -> new Finding(Kind.CHANGING, "process " + process + " closed a descriptor meanwhile");
            case Errno.ESRCH -> new Finding(Kind.GONE, "process " + process + " is gone");
            default ->
                new Finding(
                        Kind.UNREADABLE,
                        "the descriptors of process " + process + " cannot be read (" + ErrnoName.of(-error)
                                + "); give the agent CAP_SYS_PTRACE, or run it as root");
        };
    }

    private String describe(int number) {
        byte[] text = link.asSlice(0, Math.max(0, linkLength)).toArray(JAVA_BYTE);
        String target = new String(text, StandardCharsets.UTF_8).replaceAll("\\p{Cntrl}", "?");
        return "descriptor " + number + " of process " + process + ", " + target + ",";
    }

    private boolean startsWith(byte[] prefix) {
        if (linkLength < prefix.length) {
            return false;
        }
        for (int i = 0; i < prefix.length; i++) {
            if (link.get(JAVA_BYTE, i) != prefix[i]) {
                return false;
            }
        }
        return true;
    }

    /** The number after a label at the beginning of a line; -1 if there is none. */
    private long number(byte[] label, int base) {
        int at = find(label);
        if (at < 0) {
            return -1;
        }
        while (at < infoLength && info.get(JAVA_BYTE, at) == ' ') {
            at++;
        }
        long number = -1;
        for (; at < infoLength; at++) {
            int digit = info.get(JAVA_BYTE, at) - '0';
            if (digit < 0 || digit >= base) {
                break;
            }
            number = Math.max(number, 0) * base + digit;
        }
        return number;
    }

    /** Where the text after a label at the beginning of a line starts; -1 if no line begins so. */
    private int find(byte[] label) {
        boolean lineStarts = true;
        for (int at = 0; at + label.length <= infoLength; at++) {
            int i = 0;
            while (lineStarts && i < label.length && info.get(JAVA_BYTE, at + i) == label[i]) {
                i++;
            }
            if (i == label.length) {
                return at + i;
            }
            lineStarts = info.get(JAVA_BYTE, at) == '\n';
        }
        return -1;
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    @Override
    public void close() {
        links.close();
        infos.close();
    }
}
