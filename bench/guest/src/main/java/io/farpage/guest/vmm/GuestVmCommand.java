package io.farpage.guest.vmm;

import io.farpage.guest.command.ByteSize;
import io.farpage.guest.command.TimeSpan;
import io.farpage.guest.vmm.GuestMemory.Backing;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import tools.jackson.databind.json.JsonMapper;

/** {@code page-bench guest-vm}. */
@Command(
        name = "guest-vm",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Runs a small guest on KVM that touches and checks every page of its RAM, here or on an agent's remote"
                        + " memory, and prints one line of JSON.")
public final class GuestVmCommand implements Callable<Integer> {
    private static final int WRONG = 1;

    @Option(
            names = "--socket",
            paramLabel = "PATH",
            description = "Where an agent waits for the RAM (page-agent attach); left out: local memory")
    private @Nullable Path socket;

    @Option(
            names = "--pagers",
            defaultValue = "1",
            description = "Parts of the RAM that the agent serves by themselves, 1 to 16 (${DEFAULT-VALUE})")
    private int pagers;

    @Option(
            names = "--memory",
            defaultValue = "64MiB",
            converter = ByteSize.class,
            description = "RAM, up to 32GiB (${DEFAULT-VALUE})")
    private long memory;

    @Option(
            names = "--backing",
            defaultValue = "memfd",
            description =
                    "memfd, out of which an agent can evict, anonymous, as Firecracker's, or, of hugepages of 2 MiB,"
                            + " hugetlb or hugetlb-anonymous (${DEFAULT-VALUE})")
    private Backing backing = Backing.MEMFD;

    @Option(
            names = "--pattern",
            defaultValue = "random",
            description = "Order of the pages: sequential, stride or random (${DEFAULT-VALUE})")
    private Walk pattern = Walk.RANDOM;

    @Option(
            names = "--stride",
            defaultValue = "17",
            description = "Distance for the pattern stride, in pages (${DEFAULT-VALUE})")
    private long stride;

    @Option(
            names = "--passes",
            split = ",",
            defaultValue = "zeros,write,read,modify,read",
            description =
                    "What is done with all pages, one after another: zeros (expects them), write, read (expects what was"
                            + " written), modify (expects, then writes) (${DEFAULT-VALUE})")
    private List<Pass> passes = List.of();

    @Option(
            names = "--words",
            defaultValue = "2",
            description = "Words of each page, a power of two up to 512 (${DEFAULT-VALUE})")
    private int words;

    @Option(
            names = "--vcpus",
            defaultValue = "1",
            description = "vCPUs that share the pages, 1 to 64 (${DEFAULT-VALUE})")
    private int vcpus;

    @Option(names = "--seed", defaultValue = "1", description = "Of content and random order (${DEFAULT-VALUE})")
    private long seed;

    @Option(
            names = "--timeout",
            defaultValue = "120s",
            converter = TimeSpan.class,
            description = "How long one pass may take (${DEFAULT-VALUE})")
    private Duration timeout = Duration.ZERO;

    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        GuestResult result = GuestRun.run(plan());
        System.out.println(new JsonMapper().writeValueAsString(result));
        if (result.mismatches() > 0) {
            System.err.println(
                    "page-bench: the guest found " + result.mismatches() + " words that did not hold what they should");
            return WRONG;
        }
        return 0;
    }

    private GuestPlan plan() {
        try {
            return new GuestPlan(
                    memory,
                    backing,
                    Optional.ofNullable(socket),
                    pagers,
                    vcpus,
                    pattern,
                    stride,
                    words,
                    passes,
                    seed,
                    timeout);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(
                    spec == null ? new CommandLine(this) : spec.commandLine(), String.valueOf(e.getMessage()), e);
        }
    }
}
