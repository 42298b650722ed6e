package io.farpage.guest.vmm;

import io.farpage.guest.command.ByteSize;
import io.farpage.guest.command.TimeSpan;
import io.farpage.guest.vmm.GuestMemory.Backing;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options of the commands that have memory of a guest, as given. */
public final class MemoryOptions {
    @Option(
            names = "--socket",
            paramLabel = "PATH",
            description = "Socket of page-agent attach; without it, guest-vm uses local memory")
    private @Nullable Path socket;

    @Option(
            names = "--memory",
            converter = ByteSize.class,
            description =
                    "Size of the memory, in whole pages (guest-vm: up to 32GiB, default 64MiB; stress: up to 1GiB,"
                            + " default 16MiB)")
    private @Nullable Long memory;

    @Option(
            names = "--backing",
            defaultValue = "memfd",
            description = "memfd, or hugetlb for pages of 2 MiB; guest-vm also anonymous, as Firecracker's, and"
                    + " hugetlb-anonymous, which an agent cannot evict from (default: ${DEFAULT-VALUE})")
    private Backing backing = Backing.MEMFD;

    @Option(
            names = "--pagers",
            defaultValue = "1",
            description = "Parts of the memory, each with a pager of its own in the agent, 1 to 16"
                    + " (default: ${DEFAULT-VALUE})")
    private int pagers;

    @Option(
            names = "--timeout",
            converter = TimeSpan.class,
            description = "Time limit (guest-vm: of each pass, default 120s; stress: of the whole run, default 300s)")
    private @Nullable Duration timeout;

    /** The socket of an agent; empty for local memory. */
    public Optional<Path> socket() {
        return Optional.ofNullable(socket);
    }

    /** In bytes. */
    public long memory(long otherwise) {
        return memory == null ? otherwise : memory;
    }

    public Backing backing() {
        return backing;
    }

    public int pagers() {
        return pagers;
    }

    /** How long it may take. */
    public Duration timeout(Duration otherwise) {
        return timeout == null ? otherwise : timeout;
    }
}
