package io.farpage.agent.control.pins;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.farpage.agent.control.pins.Finding.Kind;
import io.farpage.linux.DirectoryFd;
import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.BitSet;

/**
 * The open descriptors of a task, as /proc shows them (proc_pid_fd(5), proc_pid_fdinfo(5)). One thread.
 *
 * <p>A scan is not atomic. A descriptor that is open from its beginning to its end is found even if it moves to another
 * number: numbers that are new at the end are examined, and one that vanished before it was examined makes the scan
 * inconclusive.
 */
final class DescriptorTable implements AutoCloseable {
    private static final int O_DIRECT = System.getProperty("os.arch", "").equals("aarch64") ? 0x10000 : 0x4000;
    private static final int ROUNDS = 8;
    private static final int LINK_BYTES = 512;
    private static final byte[] IO_URING = ascii("anon_inode:[io_uring]");
    private static final byte[] VFIO = ascii("anon_inode:[vfio");
    private static final byte[] IOMMUFD = ascii("anon_inode:[iommufd");
    private static final byte[] SOCKET = ascii("socket:");
    private static final byte[] FLAGS = ProcText.label("flags:\t");
    private static final byte[] INODE = ProcText.label("ino:\t");
    private static final byte[] USER_FILES = ProcText.label("UserFiles:\t");
    private static final byte[] USER_BUFFERS = ProcText.label("UserBufs:\t");
    private static final byte[] UDMABUF = ProcText.label("exp_name:\tudmabuf");

    private final int process;
    private final String path;
    private final DirectoryFd links;
    private final DirectoryFd infos;
    private final BitSet seen = new BitSet();
    private final MemorySegment link = Arena.ofAuto().allocate(LINK_BYTES);
    private final ProcText info;
    private final Rings rings = new Rings();
    private int linkLength;
    private long inspection;

    private DescriptorTable(int process, String path, DirectoryFd links, DirectoryFd infos, ProcText info) {
        this.process = process;
        this.path = path;
        this.links = links;
        this.infos = infos;
        this.info = info;
    }

    /**
     * Opens the table of a task.
     *
     * @param process for messages
     * @param task such as {@code /proc/7} or {@code /proc/7/task/8}
     * @param text is overwritten by each call
     * @throws io.farpage.linux.PosixException if the task is gone, or may not be inspected
     */
    static DescriptorTable open(int process, String task, ProcText text) {
        DirectoryFd links = DirectoryFd.open(task + "/fd");
        try {
            return new DescriptorTable(process, task + "/fd/", links, DirectoryFd.open(task + "/fdinfo"), text);
        } catch (RuntimeException e) {
            links.close();
            throw e;
        }
    }

    /**
     * Scans all descriptors until one is found that may pin memory. A locked io_uring is reported if nothing else is
     * found.
     *
     * @param number of the inspection, above that of the one before
     */
    Finding scan(long number) {
        inspection = number;
        seen.clear();
        rings.begin();
        Finding busy = Finding.CLEAR;
        for (int round = 0; round < ROUNDS; round++) {
            int count = links.list();
            if (count < 0) {
                return failure(count);
            }
            boolean unchanged = true;
            for (int i = 0; i < count; i++) {
                int descriptor = links.number(i);
                if (!seen.get(descriptor)) {
                    unchanged = false;
                    seen.set(descriptor);
                    Finding found = scan(descriptor);
                    if (found.kind() == Kind.BUSY) {
                        busy = found;
                    } else if (!found.isClear()) {
                        return found;
                    }
                }
            }
            if (unchanged) {
                return seen.isEmpty() ? Finding.EMPTY : busy;
            }
        }
        return new Finding(
                Kind.CHANGING, "process " + process + " opens descriptors faster than they can be inspected");
    }

    /**
     * Examines the rings again that the latest scan found locked.
     *
     * @return whether each of them has been seen idle since that scan began
     */
    boolean areRingsIdle() {
        for (int i = rings.busy() - 1; i >= 0; i--) {
            if (info.read(infos, rings.busy(i)) >= 0 && hasNothingRegistered()) {
                rings.recheck(i, info.number(INODE, 10), inspection);
            }
        }
        return rings.busy() == 0;
    }

    /**
     * If the latest scan was clear or found a ring locked: the inspection since whose beginning every ring has been
     * seen idle.
     */
    long provenSince() {
        return rings.provenSince(inspection);
    }

    /** Whether the latest scan found an io_uring. */
    boolean hasRings() {
        return rings.any();
    }

    private boolean hasNothingRegistered() {
        return info.number(USER_FILES, 10) == 0 && info.number(USER_BUFFERS, 10) == 0;
    }

    private Finding scan(int number) {
        linkLength = links.readLink(number, link);
        if (linkLength < 0) {
            return failure(linkLength);
        }
        if (link.get(JAVA_BYTE, 0) == '/') {
            return scanFile(number);
        }
        if (startsWith(IO_URING)) {
            return scanRing(number);
        }
        if (startsWith(VFIO) || startsWith(IOMMUFD)) {
            return lasting(number, "it belongs to VFIO, which pins memory");
        }
        if (startsWith(SOCKET) && SocketProtocol.isXdp(path + number)) {
            return lasting(number, "it is an AF_XDP socket, which may pin memory");
        }
        return Finding.CLEAR;
    }

    private Finding scanFile(int number) {
        String lasting = Devices.pinning(link, linkLength);
        if (!lasting.isEmpty()) {
            return lasting(number, lasting);
        }
        int length = info.read(infos, number);
        if (length < 0) {
            return failure(length);
        }
        long flags = info.number(FLAGS, 8);
        if (flags < 0) {
            return new Finding(
                    Kind.UNREADABLE, "/proc shows no flags of descriptor " + number + " of process " + process);
        }
        if ((flags & O_DIRECT) != 0) {
            return new Finding(Kind.DIRECT_IO, describe(number) + " is open for direct I/O (O_DIRECT)");
        }
        return info.find(UDMABUF) >= 0 ? lasting(number, "it is made of pinned pages (udmabuf)") : Finding.CLEAR;
    }

    private Finding scanRing(int number) {
        int length = info.read(infos, number);
        if (length < 0) {
            return failure(length);
        }
        long files = info.number(USER_FILES, 10);
        long buffers = info.number(USER_BUFFERS, 10);
        if (buffers > 0) {
            return lasting(number, "it has registered buffers, which are pinned");
        }
        if (files > 0) {
            return new Finding(
                    Kind.DIRECT_IO, describe(number) + " has registered files, whose flags /proc does not show");
        }
        if (hasNothingRegistered()) {
            rings.idle(number, info.number(INODE, 10), inspection);
            return Finding.CLEAR;
        }
        // While a call of its owner locks the ring, /proc does not show what it has registered.
        rings.busy(number, info.number(INODE, 10));
        return new Finding(
                Kind.BUSY,
                describe(number) + " is locked by a call of its owner, so that /proc does not show its buffers");
    }

    private Finding lasting(int number, String why) {
        return new Finding(Kind.LASTING, name(number) + ": " + why);
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
        return name(number) + ",";
    }

    private String name(int number) {
        byte[] text = link.asSlice(0, Math.max(0, linkLength)).toArray(JAVA_BYTE);
        String target = new String(text, StandardCharsets.UTF_8).replaceAll("\\p{Cntrl}", "?");
        return "descriptor " + number + " of process " + process + ", " + target;
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

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    @Override
    public void close() {
        links.close();
        infos.close();
    }
}
