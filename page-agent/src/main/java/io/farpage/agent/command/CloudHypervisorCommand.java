package io.farpage.agent.command;

import io.farpage.agent.client.AgentClient;
import io.farpage.agent.client.AgentTarget;
import io.farpage.agent.client.NoAgentException;
import io.farpage.agent.cloudhypervisor.PageSource;
import io.farpage.agent.cloudhypervisor.Restore;
import io.farpage.agent.rest.GuestOperations;
import io.farpage.agent.rest.PageOperations;
import io.farpage.config.DurationOption;
import io.farpage.coordinator.model.Space;
import io.farpage.rest.Json;
import io.farpage.tls.TlsException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code page-agent cloud-hypervisor-restore}: a virtual machine whose memory is in a space, restored on demand. */
@Command(
        name = "cloud-hypervisor-restore",
        mixinStandardHelpOptions = true,
        description = {
            "Restore a virtual machine in Cloud Hypervisor whose memory is in a space: it runs at once, and fetches a"
                    + " page when its guest touches it.",
            "Ends when Cloud Hypervisor has all pages. Do not end it before: the guest stops at the next page that it"
                    + " lacks."
        })
public final class CloudHypervisorCommand implements Callable<Integer> {
    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    private static final int REFUSED = 1;
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final Duration PAUSE = Duration.ofMillis(200);
    /** A home or an agent that is away for a while. */
    private static final Set<Integer> AWAY = Set.of(429, 503, 504);

    @ArgGroup(exclusive = false, multiplicity = "1")
    private final AgentTarget target = new AgentTarget();

    @Option(
            names = "--input-dir",
            required = true,
            paramLabel = "DIRECTORY",
            description = "Has migration_config.json and state.json, as Cloud Hypervisor's offload_daemon wrote them")
    private Path input = Path.of("");

    @Option(
            names = "--socket",
            required = true,
            paramLabel = "PATH",
            description = "Unix socket on which Cloud Hypervisor receives: ch-remote receive-migration"
                    + " receiver_url=unix:PATH,memory_mode=postcopy")
    private Path socket = Path.of("");

    @Option(names = "--resume", description = "Have the guest run at once; without it, ch-remote resume lets it run")
    private boolean resume;

    @Option(
            names = "--timeout",
            paramLabel = "DURATION",
            converter = DurationOption.class,
            defaultValue = "2m",
            description = "How long each step may take Cloud Hypervisor (default: ${DEFAULT-VALUE})")
    private Duration timeout = Duration.ofMinutes(2);

    @Option(
            names = "--deadline",
            paramLabel = "DURATION",
            converter = DurationOption.class,
            defaultValue = "10m",
            description = "How long a page whose home does not answer is tried, while the guest waits (default:"
                    + " ${DEFAULT-VALUE})")
    private Duration deadline = Duration.ofMinutes(10);

    @Option(names = "--force", description = "Also from a torn space, which holds a mix of older and newer pages")
    private boolean force;

    @Override
    public Integer call() throws InterruptedException {
        byte[] description =
                target.send(GuestOperations.DESCRIBE_SPACE.at(target.name()), AgentTarget.JSON, new byte[0]);
        if (description == null) {
            return REFUSED;
        }
        Space space = Json.LENIENT.readValue(description, Space.class);
        if (space.encryption().isPresent()) {
            return refuse(
                    ("space '%s' is encrypted, and pages of such a space are for its guest alone; load the memory into"
                                    + " one that is not")
                            .formatted(space.name()));
        }
        if (space.torn().isPresent() && !force) {
            return refuse("space '%s' holds older and newer pages: %s; --force restores it as it is"
                    .formatted(space.name(), space.torn().get().reason()));
        }
        try (AgentClient client = target.caller().open(TIMEOUT)) {
            Restore restore = new Restore(
                    new Restore.Snapshot(read("migration_config.json"), read("state.json"), resume),
                    socket,
                    timeout,
                    pages(client),
                    space.pageSize(),
                    space.sizeBytes());
            long faults = restore.run();
            spec.commandLine()
                    .getOut()
                    .println("Cloud Hypervisor has the memory of space " + target.name() + ": " + faults + " pages");
            return 0;
        } catch (IllegalArgumentException e) {
            return refuse(input.resolve("migration_config.json") + ": " + e.getMessage());
        } catch (IOException | NoAgentException | TlsException e) {
            return refuse(String.valueOf(e.getMessage()));
        }
    }

    private int refuse(String why) {
        spec.commandLine().getErr().println("page-agent: " + why);
        return REFUSED;
    }

    private byte[] read(String name) throws IOException {
        Path file = input.resolve(name);
        if (!Files.isRegularFile(file)) {
            throw new IOException(
                    "%s is not a file; give --input-dir the directory that Cloud Hypervisor's offload_daemon wrote"
                            .formatted(file));
        }
        return Files.readAllBytes(file);
    }

    /** Reads through the agent, and waits for homes that do not answer for the time being. */
    private PageSource pages(AgentClient client) {
        return number -> {
            long end = System.nanoTime() + deadline.toNanos();
            while (true) {
                String why;
                try (AgentClient.Answer answer = client.send(
                        PageOperations.READ.at(target.name(), number), PageOperations.BYTES, AgentClient.Bytes.NONE)) {
                    byte[] content = answer.body().readAllBytes();
                    if (answer.status() == 200) {
                        return content;
                    }
                    why = AgentTarget.detail(answer.status(), content);
                    if (!AWAY.contains(answer.status())) {
                        throw new PageRefusedException(why);
                    }
                } catch (PageRefusedException e) {
                    throw e;
                } catch (IOException e) {
                    why = client.explain(e);
                }
                if (System.nanoTime() - end > 0) {
                    throw new IOException(why);
                }
                Thread.sleep(PAUSE);
            }
        };
    }

    /** A page that no repetition would bring. */
    private static final class PageRefusedException extends IOException {
        private static final long serialVersionUID = 1L;

        PageRefusedException(String message) {
            super(message);
        }
    }
}
