package io.farpage.trace;

import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import picocli.CommandLine;
import picocli.CommandLine.IExecutionStrategy;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.RunLast;

/**
 * Commands that are traced: each is a span, below that of {@code TRACEPARENT} if there is one, if the environment names
 * a collector.
 */
public final class TracedCommands {
    private static final String ENDPOINT = "FARPAGE_TRACE_OTLP_ENDPOINT";
    private static final int COULD_NOT = 1;
    private static final String PARENT = "TRACEPARENT";
    /** How long a command that is done waits for the collector. */
    private static final Duration LAST = Duration.ofMillis(500);

    private final String program;
    private final Set<String> services;
    private final Map<String, String> environment;
    private final IExecutionStrategy strategy = new RunLast();

    private TracedCommands(String program, Set<String> services, Map<String, String> environment) {
        this.program = program;
        this.services = Set.copyOf(services);
        this.environment = environment;
    }

    /**
     * Traces the commands of a program.
     *
     * @param services names of commands that run as long as a service; they get no span
     */
    public static void install(CommandLine program, String name, Set<String> services) {
        program.setExecutionStrategy(new TracedCommands(name, services, System.getenv())::execute);
    }

    private int execute(ParseResult parsed) {
        String endpoint = environment.getOrDefault(ENDPOINT, "");
        List<String> names = names(parsed);
        if (endpoint.isEmpty()
                || names.isEmpty()
                || services.contains(names.getLast())
                || CommandLine.printHelpIfRequested(parsed)) {
            return strategy.execute(parsed);
        }
        if (!endpoint.matches(TraceKeys.FORM)) {
            parsed.commandSpec()
                    .commandLine()
                    .getErr()
                    .println("%s: %s '%s' is not %s".formatted(program, ENDPOINT, endpoint, TraceKeys.ALLOWED));
            return COULD_NOT;
        }
        return traced(parsed, URI.create(endpoint), program + " " + String.join(" ", names));
    }

    private static List<String> names(ParseResult parsed) {
        List<String> names = new ArrayList<>();
        for (ParseResult at = parsed; at.hasSubcommand(); at = at.subcommand()) {
            names.add(at.subcommand().commandSpec().name());
        }
        return names;
    }

    private int traced(ParseResult parsed, URI endpoint, String name) {
        Tracer tracer = Tracer.begin(new Tracer.Options(endpoint, program, "", 1));
        Optional<ActiveSpan> span = Optional.ofNullable(environment.get(PARENT))
                .flatMap(TraceContext::parse)
                .map(parent -> tracer.below(parent, name, Span.Kind.INTERNAL))
                .orElseGet(() -> tracer.start(name, Span.Kind.INTERNAL));
        try {
            int code = span.isEmpty()
                    ? strategy.execute(parsed)
                    : Tracer.within(span.get().context(), () -> strategy.execute(parsed));
            if (code != 0) {
                span.ifPresent(active -> active.fail("exit code " + code));
            }
            return code;
        } finally {
            span.ifPresent(ActiveSpan::end);
            tracer.close(LAST);
        }
    }
}
