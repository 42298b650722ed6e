package io.farpage.agent.command;

import io.farpage.agent.client.AgentTarget;
import io.farpage.agent.data.coherence.DirectoryStatus;
import io.farpage.agent.rest.AgentOperations;
import io.farpage.log.Printable;
import io.farpage.rest.Json;
import io.farpage.tls.ClientOptions;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code page-agent directories}: the coherent spaces of a home. */
@Command(
        name = "directories",
        mixinStandardHelpOptions = true,
        description =
                "Show the coherent spaces that a node is a home of, and the pages that members take from each other.")
public final class DirectoriesCommand implements Callable<Integer> {
    private static final int REFUSED = 1;

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @Option(
            names = "--agent",
            paramLabel = "AGENT",
            defaultValue = "${env:FARPAGE_AGENT}",
            description = AgentTarget.AGENT)
    private @Nullable String agent;

    @Mixin
    private final ClientOptions security = new ClientOptions();

    @Option(
            names = "--parts",
            description = "Show also how often pages were taken in each sixteenth of the space's extents on this node")
    private boolean withParts;

    @Option(names = "--json", description = "Print the JSON of the REST API")
    private boolean asJson;

    @Override
    public Integer call() throws InterruptedException {
        byte[] answer = AgentTarget.send(
                new AgentTarget.Caller(agent, security, spec.commandLine().getErr()),
                AgentOperations.DIRECTORIES.at(),
                AgentTarget.JSON,
                new byte[0]);
        if (answer == null) {
            return REFUSED;
        }
        String text = asJson
                ? new String(answer, StandardCharsets.UTF_8)
                : text(Json.LENIENT.readValue(answer, DirectoryStatus[].class));
        spec.commandLine().getOut().println(text);
        return 0;
    }

    private String text(DirectoryStatus[] all) {
        StringBuilder text = new StringBuilder("%-8s %10s %12s %12s %14s %8s %8s  %s"
                .formatted("SPACE", "PAGES", "REQUESTS", "RECALLS", "INVALIDATIONS", "WAITING", "LOST", "MEMBERS"));
        for (DirectoryStatus one : all) {
            text.append("%n%-8d %10d %12d %12d %14d %8d %8d  %s"
                    .formatted(
                            one.space(),
                            one.pages(),
                            one.requests(),
                            one.recalls(),
                            one.invalidations(),
                            one.waiting(),
                            one.lostPages(),
                            one.members().stream()
                                    .map(member -> Printable.of(member.node()) + (member.heard() ? "" : " (not heard)"))
                                    .collect(Collectors.joining(", "))));
            for (DirectoryStatus.Bouncing page : one.bouncing()) {
                text.append("%n         page %d was taken %d times, last by %s from %s"
                        .formatted(page.page(), page.moves(), Printable.of(page.to()), Printable.of(page.from())));
            }
            if (withParts) {
                text.append(parts(one.parts()));
            }
        }
        return text.toString();
    }

    private static String parts(List<DirectoryStatus.Part> parts) {
        long all = parts.stream().mapToLong(DirectoryStatus.Part::taken).sum();
        StringBuilder text = new StringBuilder("%n%19s %10s %12s %8s".formatted("FROM PAGE", "TO", "TAKEN", "SHARE"));
        for (DirectoryStatus.Part part : parts) {
            text.append("%n%19d %10d %12d %6.1f %%"
                    .formatted(
                            part.firstPage(),
                            part.firstPage() + part.pages() - 1,
                            part.taken(),
                            all == 0 ? 0.0 : 100.0 * part.taken() / all));
        }
        return text.toString();
    }
}
