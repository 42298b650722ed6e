package io.farpage.bench.fetch;

import io.farpage.bench.cluster.AgentProcess;
import io.farpage.bench.cluster.Coordinator;
import io.farpage.bench.cluster.HomeHealth;
import io.farpage.bench.node.Answer;
import io.farpage.bench.node.Lines;
import io.farpage.bench.node.NodeCommand;
import io.farpage.bench.node.NodeSettings;
import io.farpage.bench.process.Child;
import io.farpage.bench.process.Children;
import io.farpage.guest.command.CommandException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The two agents of a scenario: a home, and a fetching node that obeys orders. Between orders both can be put to sleep. Used
 * by one thread.
 */
final class Pair implements AutoCloseable {
    private static final Duration START_TIMEOUT = Duration.ofMinutes(4);
    private static final Duration FAREWELL = Duration.ofSeconds(10);

    private final Child coordinator;
    private final Child home;
    private final Child node;
    private final Writer orders;
    private final String backing;
    private final Answer.Ready ready;
    private final BlockingQueue<Heard> heard = new LinkedBlockingQueue<>();

    private sealed interface Heard {
        record Line(String text) implements Heard {}

        record Ended(Child who) implements Heard {}
    }

    private Pair(Child coordinator, Child home, Child node, String backing) throws InterruptedException {
        this.coordinator = coordinator;
        this.home = home;
        this.node = node;
        this.backing = backing;
        this.orders = node.process().outputWriter(StandardCharsets.UTF_8);
        Thread.ofVirtual().name("node-output").start(this::listen);
        for (Child child : List.of(coordinator, home)) {
            Thread.ofVirtual().name("end of " + child.name()).start(() -> awaitEnd(child));
        }
        this.ready = expect(Answer.Ready.class, "start", START_TIMEOUT);
    }

    /** Starts both and waits until the link between them is up. */
    static Pair start(Children children, FetchPlan plan, Scenario scenario, Coordinator coordinator)
            throws InterruptedException {
        AgentProcess home = AgentProcess.start(
                children, "home of " + scenario.name(), AgentFlags.home(plan, scenario, coordinator.url()));
        NodeSettings settings = new NodeSettings(
                AgentFlags.HOME,
                "bench-" + scenario.name(),
                plan.pages(),
                plan.pageSize(),
                scenario.depth(),
                plan.pattern(),
                plan.zipfExponent(),
                plan.seed(),
                plan.verification(),
                Map.of());
        settings = settings.withAgent(AgentFlags.node(plan, scenario, coordinator.url(), settings.slots()));
        Child node = children.start(
                "node of " + scenario.name(), "page-bench", List.of("fetch-node", Lines.of(settings)), true);
        return new Pair(coordinator.child(), home.child(), node, HomeHealth.backing(home.awaitPort()));
    }

    /** What the home's pages are made of. */
    String backing() {
        return backing;
    }

    Answer.Ready ready() {
        return ready;
    }

    Answer.Filled fill(Duration timeout) throws InterruptedException {
        say(new NodeCommand.Fill());
        return expect(Answer.Filled.class, "fill", timeout);
    }

    Answer.Round run(NodeCommand.Run order, Duration timeout) throws InterruptedException {
        say(order);
        return expect(Answer.Round.class, "run", timeout);
    }

    /** Takes both off the CPU. */
    void pause() {
        node.pause();
        home.pause();
    }

    /** Lets both go on. */
    void resume() {
        home.resume();
        node.resume();
    }

    private void say(NodeCommand order) {
        try {
            orders.write(Lines.of(order) + "\n");
            orders.flush();
        } catch (IOException gone) {
            // It has ended, which is heard next.
        }
    }

    private <T extends Answer> T expect(Class<T> kind, String order, Duration timeout) throws InterruptedException {
        Answer answer = switch (heard.poll(timeout.toMillis(), TimeUnit.MILLISECONDS)) {
            case null ->
                throw new CommandException("the fetching node did not answer '" + order + "' within "
                        + timeout.toSeconds() + " s: " + node.lastWords());
            case Heard.Line(String text) -> {
                Optional<Answer> said = Lines.answer(text);
                yield said.orElseThrow(() -> new CommandException("the fetching node said '" + text + "'"));
            }
            case Heard.Ended(Child who) -> {
                who.process().waitFor(FAREWELL.toMillis(), TimeUnit.MILLISECONDS);
                throw new CommandException(who.lastWords());
            }
        };
        if (answer instanceof Answer.Failed(String reason)) {
            throw new CommandException("the fetching node gave up: " + reason + aboutOthers());
        }
        return kind.cast(answer);
    }

    private String aboutOthers() throws InterruptedException {
        // A home that died is why; its end may be noticed a moment after the node's complaint.
        home.process().waitFor(500, TimeUnit.MILLISECONDS);
        for (Child child : List.of(coordinator, home)) {
            if (!child.isAlive()) {
                return "; " + child.lastWords();
            }
        }
        return "; " + node.lastWords();
    }

    private void awaitEnd(Child child) {
        try {
            child.process().waitFor();
            heard.add(new Heard.Ended(child));
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void listen() {
        try (BufferedReader reader = node.process().inputReader(StandardCharsets.UTF_8)) {
            // The JVM itself may print to standard output, as it does when a recording starts.
            reader.lines().filter(line -> line.startsWith("{")).forEach(line -> heard.add(new Heard.Line(line)));
        } catch (IOException | UncheckedIOException closed) {
            // The process is gone, which Ended says.
        } finally {
            heard.add(new Heard.Ended(node));
        }
    }

    /** Has both leave the cluster. */
    @Override
    public void close() {
        resume();
        say(new NodeCommand.Quit());
        try {
            orders.close();
        } catch (IOException gone) {
            // It has ended already, as it should.
        }
        node.awaitEnd(FAREWELL);
        home.close();
    }
}
