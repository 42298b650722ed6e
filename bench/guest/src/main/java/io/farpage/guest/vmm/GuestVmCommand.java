package io.farpage.guest.vmm;

import io.farpage.guest.command.UsageException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.databind.json.JsonMapper;

/** {@code page-bench guest-vm}. */
@Command(
        name = "guest-vm",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Runs a small guest on KVM that touches and checks every page of its RAM, in local memory or in remote"
                        + " memory that an agent serves. Prints one line of JSON.")
public final class GuestVmCommand implements Callable<Integer> {
    private static final int WRONG = 1;

    private static final long DEFAULT_MEMORY = 64L << 20;
    private static final Duration DEFAULT_TIMEOUT = Duration.ofMinutes(2);

    @Mixin
    private final MemoryOptions options = new MemoryOptions();

    @Option(
            names = "--pattern",
            defaultValue = "random",
            description = "Order of the pages: sequential, stride or random (default: ${DEFAULT-VALUE})")
    private Walk pattern = Walk.RANDOM;

    @Option(
            names = "--stride",
            defaultValue = "17",
            description = "Distance for the pattern stride, in pages (default: ${DEFAULT-VALUE})")
    private long stride;

    @Option(
            names = "--passes",
            split = ",",
            defaultValue = "zeros,write,read,modify,read",
            description =
                    "What is done with all pages, one after another: zeros (expects them), write, read (expects what"
                            + " was written), modify (expects, then writes); or count (every vCPU adds one to each"
                            + " page, under a lock) and counted (expects --counted) (default: ${DEFAULT-VALUE})")
    private List<Pass> passes = List.of();

    @Option(
            names = "--counted",
            defaultValue = "0",
            description = "How often all machines with this memory have counted each page (default: ${DEFAULT-VALUE})")
    private long counted;

    @Option(
            names = "--words",
            defaultValue = "2",
            description = "Words of each page, a power of two up to 512 (default: ${DEFAULT-VALUE})")
    private int words;

    @Option(
            names = "--vcpus",
            defaultValue = "1",
            description = "vCPUs that share the pages, 1 to 64 (default: ${DEFAULT-VALUE})")
    private int vcpus;

    @Option(
            names = "--seed",
            defaultValue = "1",
            description = "Of content and random order (default: ${DEFAULT-VALUE})")
    private long seed;

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
                    options.memory(DEFAULT_MEMORY),
                    options.backing(),
                    options.socket(),
                    options.pagers(),
                    vcpus,
                    pattern,
                    stride,
                    words,
                    passes,
                    counted,
                    seed,
                    options.timeout(DEFAULT_TIMEOUT));
        } catch (IllegalArgumentException e) {
            throw new UsageException(e);
        }
    }
}
