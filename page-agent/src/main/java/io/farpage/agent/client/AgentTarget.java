package io.farpage.agent.client;

import io.farpage.agent.rest.AgentApi;
import io.farpage.log.Printable;
import io.farpage.rest.Json;
import io.farpage.rest.Operation.Target;
import io.farpage.rest.Problem;
import io.farpage.tls.ClientOptions;
import io.farpage.tls.TlsException;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The agent and the space that a command is for. */
public final class AgentTarget {
    /** Description of the option {@code --agent}. */
    public static final String AGENT =
            "The agent: the id of a node on this host, unix:PATH, or http(s)://HOST:PORT; or FARPAGE_AGENT. When left"
                    + " out, the one agent that has its socket in /run/farpage or in this user's directory";

    public static final String JSON = "application/json";

    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    /** Pause before a request is repeated that the agent refused temporarily. */
    private static final Duration RETRY = Duration.ofMillis(200);

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @Option(names = "--agent", paramLabel = "AGENT", defaultValue = "${env:FARPAGE_AGENT}", description = AGENT)
    private @Nullable String agent;

    @ArgGroup(exclusive = false)
    private ClientOptions security = new ClientOptions();

    @Option(names = "--space", required = true, description = "Name of the space")
    private String space = "";

    /** Name of the space. */
    public String name() {
        return space;
    }

    /** The agent, and what is shown to it. */
    public Caller caller() {
        return new Caller(agent, security, spec.commandLine().getErr());
    }

    /** Sends a request. Prints the problem and gives null if it was refused. */
    public byte @Nullable [] send(Target<?, ?> to, String type, byte[] body) throws InterruptedException {
        return send(caller(), to, type, body);
    }

    /**
     * The agent that a command is for, and what is shown to it.
     *
     * @param agent as the option gives it; null: the agent of this host
     * @param err where the command says what is refused
     */
    public record Caller(@Nullable String agent, ClientOptions security, PrintWriter err) {
        /**
         * Connects to the agent.
         *
         * @throws NoAgentException if the option leads to none
         * @throws TlsException if the certificates cannot be used
         */
        public AgentClient open(Duration timeout) {
            return AgentClient.open(AgentAddress.of(agent), security, timeout);
        }
    }

    public static byte @Nullable [] send(Caller caller, Target<?, ?> to, String type, byte[] body)
            throws InterruptedException {
        return send(caller, to, type, body, problem -> false);
    }

    /**
     * Sends a request, and sends it again while the answer is a problem that {@code again} says yes to.
     *
     * @return null if it was refused, after the problem was printed
     */
    public static byte @Nullable [] send(
            Caller caller, Target<?, ?> to, String type, byte[] body, Predicate<Problem> again)
            throws InterruptedException {
        try (AgentClient client = caller.open(TIMEOUT)) {
            while (true) {
                try (AgentClient.Answer answer = client.send(to, type, new AgentClient.Bytes(body))) {
                    byte[] content = answer.body().readAllBytes();
                    if (answer.status() / 100 == 2) {
                        answer.header(AgentApi.TORN)
                                .ifPresent(why -> caller.err()
                                        .println("page-agent: warning: the space is torn, its pages are older and newer"
                                                + " ones: "
                                                + why));
                        return content;
                    }
                    if (problem(content).filter(again).isEmpty()) {
                        caller.err().println("page-agent: " + detail(answer.status(), content));
                        return null;
                    }
                } catch (IOException e) {
                    caller.err().println("page-agent: no answer from the agent at " + client.explain(e));
                    return null;
                }
                Thread.sleep(RETRY);
            }
        } catch (NoAgentException | TlsException e) {
            caller.err().println("page-agent: " + e.getMessage());
            return null;
        }
    }

    public static String detail(int status, byte[] body) {
        return problem(body).map(problem -> Printable.of(problem.detail())).orElse("the agent answered " + status);
    }

    private static Optional<Problem> problem(byte[] body) {
        try {
            return Optional.of(Json.LENIENT.readValue(body, Problem.class));
        } catch (RuntimeException e) {
            return Optional.empty();
        }
    }
}
