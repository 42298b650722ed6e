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
            description = "Where an agent waits for the memory (page-agent attach); guest-vm without it: local memory")
    private @Nullable Path socket;

    @Option(
            names = "--memory",
            converter = ByteSize.class,
            description =
                    "How much, in whole pages (guest-vm: up to 32GiB, 64MiB if left out; stress: up to 1GiB, 16MiB)")
    private @Nullable Long memory;

    @Option(
            names = "--backing",
            defaultValue = "memfd",
            description = "memfd, or hugetlb for pages of 2 MiB; guest-vm also anonymous, as Firecracker's, and"
                    + " hugetlb-anonymous, out of which an agent cannot evict (${DEFAULT-VALUE})")
    private Backing backing = Backing.MEMFD;

    @Option(
            names = "--pagers",
            defaultValue = "1",
            description = "Parts of the memory that the agent serves by themselves, 1 to 16 (${DEFAULT-VALUE})")
    private int pagers;

    @Option(
            names = "--timeout",
            converter = TimeSpan.class,
            description = "How long it may take (guest-vm: 120s for each pass; stress: 300s for all)")
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
