package io.farpage.agent.control.pins;

import io.farpage.agent.control.CloseStack;
import io.farpage.agent.control.pins.Finding.Kind;
import io.farpage.linux.DirectoryFd;
import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.Kcmp;
import io.farpage.linux.PosixException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** A process that has a guest's memory mapped, and the descriptor tables of its threads. One thread. */
final class VmmProcess implements AutoCloseable {
    private static final MemorySegment STATUS = Arena.global().allocateFrom("status");
    private static final byte[] PINNED = ProcText.label("VmPin:");

    private final int pid;
    private final DirectoryFd directory;
    private final DirectoryFd tasks;
    private final DescriptorTable table;
    /** Shared with the tables of descriptors. */
    private final ProcText text;

    private final Errno errno = Errno.create();
    private long provenAlone;
    /** Whether no ring was found locked in a table of descriptors that a thread has for itself. */
    private boolean isShared = true;

    private VmmProcess(int pid, DirectoryFd directory, DirectoryFd tasks, DescriptorTable table, ProcText text) {
        this.pid = pid;
        this.directory = directory;
        this.tasks = tasks;
        this.table = table;
        this.text = text;
    }

    /** @throws PosixException if the process is gone, or may not be inspected */
    static VmmProcess open(int pid) {
        String path = "/proc/" + pid;
        CloseStack open = new CloseStack();
        try {
            DirectoryFd directory = open.add(DirectoryFd.open(path));
            DirectoryFd tasks = open.add(DirectoryFd.open(path + "/task"));
            ProcText text = new ProcText();
            return new VmmProcess(pid, directory, tasks, DescriptorTable.open(pid, path, text), text);
        } catch (RuntimeException e) {
            open.closeAfter(e);
            throw e;
        }
    }

    /** Why a process could not be opened. */
    static Finding refusal(int pid, PosixException e) {
        return e.errno() == Errno.ENOENT || e.errno() == Errno.ESRCH
                ? new Finding(Kind.GONE, "process " + pid + " is gone")
                : new Finding(
                        Kind.UNREADABLE,
                        "the descriptors of process " + pid + " cannot be read (" + ErrnoName.of(e.errno())
                                + "); give the agent CAP_SYS_PTRACE, or run it as root");
    }

    int pid() {
        return pid;
    }

    /**
     * Scans the descriptors of all threads. Most share one table; others are scanned one by one. Then reads the
     * kernel's count of pinned pages of the process (VmPin): buffers stay registered with a ring whose descriptor is
     * closed.
     *
     * @param inspection its number
     */
    Finding scan(long inspection) {
        int count = tasks.list();
        if (count <= 0) {
            return gone();
        }
        Finding found = table.scan(inspection);
        provenAlone = inspection;
        boolean empty = found.kind() == Kind.EMPTY;
        isShared = true;
        for (int i = 0; i < count && found.isClearOrBusy(); i++) {
            int task = tasks.number(i);
            if (task != pid && !Kcmp.shareDescriptors(errno, pid, task)) {
                Finding own = scanOwnTable(task, inspection);
                empty &= own.kind() == Kind.EMPTY;
                isShared &= own.isClear();
                found = own.isClear() ? found : own;
            }
        }
        if (!found.isClearOrBusy()) {
            return found;
        }
        return found.isClear() && empty ? new Finding(Kind.GONE, "process " + pid + " ends") : pinned(found);
    }

    private Finding pinned(Finding found) {
        int length = text.read(directory, STATUS);
        if (length < 0) {
            return refusal(pid, new PosixException("read(/proc/" + pid + "/status)", -length));
        }
        long kilobytes = text.number(PINNED, 10);
        return kilobytes > 0
                ? new Finding(
                        Kind.LASTING,
                        "process " + pid + " has " + kilobytes
                                + " kB pinned (VmPin), such as by buffers that are registered with an io_uring or with"
                                + " RDMA")
                : found;
    }

    private Finding gone() {
        return new Finding(Kind.GONE, "process " + pid + " is gone");
    }

    private Finding scanOwnTable(int task, long inspection) {
        try (DescriptorTable own = DescriptorTable.open(pid, "/proc/" + pid + "/task/" + task, text)) {
            Finding found = own.scan(inspection);
            provenAlone = Math.min(provenAlone, own.provenSince());
            return found;
        } catch (PosixException e) {
            Finding refusal = refusal(pid, e);
            return refusal.kind() == Kind.GONE
                    ? new Finding(Kind.CHANGING, "a thread of process " + pid + " ended meanwhile")
                    : refusal;
        }
    }

    /**
     * As {@link DescriptorTable#areRingsIdle}. Rings in tables that threads do not share are examined by {@link #scan}
     * alone.
     */
    boolean areRingsIdle() {
        boolean idle = table.areRingsIdle();
        return idle && isShared;
    }

    /** As {@link DescriptorTable#provenSince}. */
    long provenSince() {
        return Math.min(provenAlone, table.provenSince());
    }

    /** Whether the latest scan found an io_uring. */
    boolean hasRings() {
        return table.hasRings() || !isShared;
    }

    @Override
    public void close() {
        directory.close();
        tasks.close();
        table.close();
    }
}
