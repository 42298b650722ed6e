package io.farpage.agent.pins;

import io.farpage.agent.pins.Finding.Kind;
import io.farpage.posix.DirectoryFd;
import io.farpage.posix.Errno;
import io.farpage.posix.ErrnoName;
import io.farpage.posix.Kcmp;
import io.farpage.posix.PosixException;

/** A process that has a guest's memory mapped, and the tables of descriptors that its threads have. One thread. */
final class VmmProcess implements AutoCloseable {
    private final int pid;
    private final DirectoryFd tasks;
    private final DescriptorTable table;
    private final Errno errno = Errno.create();

    private VmmProcess(int pid, DirectoryFd tasks, DescriptorTable table) {
        this.pid = pid;
        this.tasks = tasks;
        this.table = table;
    }

    /** @throws PosixException if the process is gone, or may not be looked at */
    static VmmProcess open(int pid) {
        String path = "/proc/" + pid;
        DirectoryFd tasks = DirectoryFd.open(path + "/task");
        try {
            return new VmmProcess(pid, tasks, DescriptorTable.open(pid, path));
        } catch (RuntimeException e) {
            tasks.close();
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

    /** Looks at the descriptors of all threads. Most share one table; those that do not are looked at one by one. */
    Finding look() {
        int count = tasks.list();
        if (count <= 0) {
            return new Finding(Kind.GONE, "process " + pid + " is gone");
        }
        Finding found = table.look();
        boolean empty = found.kind() == Kind.EMPTY;
        for (int i = 0; i < count && found.isClear(); i++) {
            int task = tasks.number(i);
            if (task != pid && !Kcmp.shareDescriptors(errno, pid, task)) {
                found = lookAlone(task);
                empty &= found.kind() == Kind.EMPTY;
            }
        }
        return found.isClear() && empty ? new Finding(Kind.GONE, "process " + pid + " ends") : found;
    }

    private Finding lookAlone(int task) {
        try (DescriptorTable own = DescriptorTable.open(pid, "/proc/" + pid + "/task/" + task)) {
            return own.look();
        } catch (PosixException e) {
            Finding refusal = refusal(pid, e);
            return refusal.kind() == Kind.GONE
                    ? new Finding(Kind.CHANGING, "a thread of process " + pid + " ended meanwhile")
                    : refusal;
        }
    }

    @Override
    public void close() {
        tasks.close();
        table.close();
    }
}
