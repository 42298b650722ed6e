package io.farpage.bench.fetch;

import io.farpage.bench.cluster.AgentFlags;
import io.farpage.bench.cluster.AgentPair;
import io.farpage.bench.cluster.AgentProcess;
import io.farpage.bench.cluster.Coordinator;
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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The two agents of a scenario: a home, and a fetching node that obeys orders. Between orders both can be put to sleep.
 * Used by one thread.
 */
final class Pair implements AutoCloseable {
    /** The node starts, waits for the home to register, and for the link to come up. */
    private static final int STARTS = 3;

    private static final int LINKS = 4;
    private static final int MAX_READS = 255;
    private static final Duration FAREWELL = Duration.ofSeconds(10);

    private final Child coordinator;
    private final AgentPair agents;
    private final Writer orders;
    private final String backing;
    private final Answer.Ready ready;
    private final BlockingQueue<Heard> heard = new LinkedBlockingQueue<>();

    private sealed interface Heard {
        record Line(String text) implements Heard {}

        record Ended(Child who) implements Heard {}
    }

    private Pair(Child coordinator, AgentPair agents) throws InterruptedException {
        this.coordinator = coordinator;
        this.agents = agents;
        this.backing = agents.home().backing();
        this.orders = agents.node().process().outputWriter(StandardCharsets.UTF_8);
        Thread.ofVirtual().name("node-output").start(this::listen);
        for (Child child : others()) {
            Thread.ofVirtual().name("end of " + child.name()).start(() -> awaitEnd(child));
        }
        this.ready =
                expect(Answer.Ready.class, "start", agents.node().startTimeout().multipliedBy(STARTS));
    }

    /** Starts both and waits until the link between them is up. */
    static Pair start(Children children, FetchPlan plan, Scenario scenario, Coordinator coordinator)
            throws InterruptedException {
        FetchOptions given = plan.given();
        AgentFlags flags = new AgentFlags(
                coordinator.url(), given.run.transport().label(), scenario.idle(), plan.bytes(), more(plan, scenario));
        AgentProcess home = AgentProcess.start(
                children,
                "home of " + scenario.name(),
                flags.home(scenario.placement().homeCpu()));
        NodeSettings settings = new NodeSettings(
                AgentFlags.HOME,
                "bench-" + scenario.name(),
                given.pages,
                plan.pageSize(),
                scenario.depth(),
                given.pattern,
                given.zipfExponent,
                given.run.seed(),
                given.verify,
                scenario.sealing() == Sealing.ON,
                given.run.startTimeout(),
                flags.node(scenario.placement().nodeCpu(), staging(plan, scenario)));
        Child node = children.start(
                "node of " + scenario.name(), "page-bench", List.of("fetch-node", Lines.of(settings)), true);
        return new Pair(coordinator.child(), new AgentPair(home, node));
    }

    private static Map<String, String> more(FetchPlan plan, Scenario scenario) {
        int depth = Math.max(scenario.depth(), NodeSettings.FILL_WINDOW);
        Map<String, String> more = new LinkedHashMap<>();
        plan.rdma().ifPresent(port -> more.putAll(port.settings()));
        more.put("link.encryption", scenario.encryption().setting());
        more.put("link.max", Integer.toString(LINKS));
        more.put("rdma.max_send_wr", Integer.toString(depth + 1));
        more.put("rdma.max_rd_atomic", Integer.toString(Math.min(MAX_READS, depth)));
        return more;
    }

    /** Bytes of the node's staging frames: the headers of peers' pools need some, and the page tool as much again. */
    static long staging(FetchPlan plan, Scenario scenario) {
        int slots = Math.max(scenario.depth(), NodeSettings.FILL_WINDOW);
        return AgentFlags.roundUp((long) slots * plan.pageSize()) + AgentFlags.roundUp(1);
    }

    AgentPair agents() {
        return agents;
    }

    /** What the home's pages are made of. */
    String backing() {
        return backing;
    }

    private List<Child> others() {
        return List.of(coordinator, agents.home().child());
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
                        + timeout.toSeconds() + " s: " + agents.node().lastWords());
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
        agents.home().child().process().waitFor(500, TimeUnit.MILLISECONDS);
        for (Child child : others()) {
            if (!child.isAlive()) {
                return "; " + child.lastWords();
            }
        }
        return "; " + agents.node().lastWords();
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
        try (BufferedReader reader = agents.node().process().inputReader(StandardCharsets.UTF_8)) {
            // The JVM itself may print to standard output, as it does when a recording starts.
            reader.lines().filter(line -> line.startsWith("{")).forEach(line -> heard.add(new Heard.Line(line)));
        } catch (IOException | UncheckedIOException closed) {
            // The process is gone, which Ended says.
        } finally {
            heard.add(new Heard.Ended(agents.node()));
        }
    }

    /** Has both leave the cluster. */
    @Override
    public void close() {
        agents.resume();
        say(new NodeCommand.Quit());
        try {
            orders.close();
        } catch (IOException gone) {
            // It has ended already, as it should.
        }
        agents.node().awaitEnd(FAREWELL);
        agents.home().close();
    }
}
