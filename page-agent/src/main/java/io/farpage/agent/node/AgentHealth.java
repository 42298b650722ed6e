package io.farpage.agent.node;

import io.farpage.agent.control.ControlThread;
import io.farpage.agent.control.ShardPulse;
import io.farpage.agent.control.link.LinkStatus;
import io.farpage.rest.Health.Part;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * What {@code /health} says of the agent's parts. A thread looks at them every second, so that requests cost nothing,
 * and so that it is known since when a part is as it is. Only threads that move pages and do not answer make an agent
 * unhealthy that has started: guests continue without the coordinator, and an unreachable peer is not a fault of this
 * agent.
 */
final class AgentHealth implements AutoCloseable {
    private static final Duration EVERY = Duration.ofSeconds(1);
    /** What was seen longer ago is not worth telling. */
    private static final Duration STALE = Duration.ofSeconds(5);
    /** On a slow machine a start takes long. */
    private static final Duration STARTING = Duration.ofMinutes(2);

    private final ShardPulse shards;
    private final Sources sources;
    private final ControlThread thread;
    private final Map<String, Part> last = new HashMap<>();
    private final InstantSource clock;
    private final Instant made;
    private volatile Optional<BooleanSupplier> registered = Optional.empty();
    private volatile Optional<Seen> seen = Optional.empty();

    /**
     * What the agent knows of its parts.
     *
     * @param refusal why the coordinator is not obeyed, if it is not
     * @param links to the peers
     * @param pool what the pool is made of
     * @param standby the process that would take over; empty if standbys are not configured
     */
    record Sources(
            Supplier<Optional<String>> refusal,
            Supplier<List<LinkStatus>> links,
            Supplier<String> pool,
            Supplier<Optional<OptionalInt>> standby) {}

    private record Seen(Instant at, List<Part> parts) {}

    AgentHealth(ShardPulse shards, Sources sources, InstantSource clock) {
        this.shards = shards;
        this.sources = sources;
        this.clock = clock;
        this.made = clock.instant();
        this.thread = new ControlThread(
                "health", new ControlThread.Pauses(Duration.ZERO, EVERY, Duration.ofSeconds(1)), this::look);
    }

    /**
     * Ends the start: looks at the parts from now on.
     *
     * @param registered whether the coordinator answered the last call and knows this node
     */
    void start(BooleanSupplier registered) {
        this.registered = Optional.of(registered);
        thread.start();
    }

    /** Whether the coordinator answered the last call and knows this node. An agent that starts is not registered. */
    boolean isRegistered() {
        return registered.map(BooleanSupplier::getAsBoolean).orElse(false);
    }

    private Duration look() {
        shards.ask();
        List<Part> now = new ArrayList<>();
        for (Part part : List.of(shardsPart(), coordinatorPart(), linksPart(), Part.ok("pool", sources.pool.get()))) {
            now.add(dated(part));
        }
        sources.standby.get().map(AgentHealth::standbyPart).map(this::dated).ifPresent(now::add);
        seen = Optional.of(new Seen(clock.instant(), List.copyOf(now)));
        return EVERY;
    }

    /** The part since the moment when it got into its state. */
    private Part dated(Part part) {
        if (part.since().isPresent() || part.state().equals("ok")) {
            last.put(part.name(), part);
            return part;
        }
        Part dated = Optional.ofNullable(last.get(part.name()))
                .filter(before -> before.state().equals(part.state()))
                .flatMap(Part::since)
                .map(since -> part.since(Instant.parse(since)))
                .orElseGet(() -> part.since(clock.instant()));
        last.put(part.name(), dated);
        return dated;
    }

    private Part shardsPart() {
        List<ShardPulse.Stuck> stuck = shards.stuck();
        if (stuck.isEmpty()) {
            return Part.ok("shards", "%d of %d answer".formatted(shards.size(), shards.size()));
        }
        String detail = stuck.stream().map(ShardPulse.Stuck::toString).collect(Collectors.joining("; "));
        return Part.failed("shards", detail)
                .since(stuck.stream()
                        .map(ShardPulse.Stuck::since)
                        .min(Instant::compareTo)
                        .orElseThrow());
    }

    private Part coordinatorPart() {
        Optional<String> refusal = sources.refusal.get();
        if (refusal.isPresent()) {
            return Part.degraded("coordinator", "not obeyed: " + refusal.get());
        }
        return isRegistered()
                ? Part.ok("coordinator", "it has registered this node")
                : Part.degraded("coordinator", "it does not answer, or does not know this node");
    }

    private static Part standbyPart(OptionalInt process) {
        return process.isPresent()
                ? Part.ok("standby", "process %d is warm".formatted(process.getAsInt()))
                : Part.degraded("standby", "none is warm: start another 'page-agent run' with the same configuration");
    }

    private Part linksPart() {
        List<LinkStatus> links = sources.links.get();
        String down = links.stream()
                .filter(link -> !link.state().equals("up"))
                .map(link ->
                        link.peer() + " (" + link.state() + (link.detail().isEmpty() ? "" : ": " + link.detail()) + ")")
                .collect(Collectors.joining(", "));
        return down.isEmpty()
                ? Part.ok("links", "%d of %d are up".formatted(links.size(), links.size()))
                : Part.degraded("links", "not up: " + down);
    }

    /** The API answers before the agent has started. */
    private boolean isStarting() {
        return seen.isEmpty() && made.plus(STARTING).isAfter(clock.instant());
    }

    /** The parts as they were within the last second. While the agent starts, one that has failed and says so. */
    List<Part> parts() {
        if (isStarting()) {
            return List.of(Part.failed("control", "the agent is starting").since(made));
        }
        Optional<Seen> latest = seen;
        Instant now = clock.instant();
        if (latest.isPresent() && latest.get().at().plus(STALE).isAfter(now)) {
            return latest.get().parts();
        }
        return List.of(Part.failed("control", "the agent's control threads do not run")
                .since(latest.map(Seen::at).orElse(made)));
    }

    /**
     * Why the agent does not do what it is for: its threads that move pages, or its control threads, do not answer.
     * Empty while they do, and while the agent starts.
     */
    Optional<String> stalled() {
        if (isStarting()) {
            return Optional.empty();
        }
        return parts().stream()
                .filter(part -> part.state().equals("failed"))
                .map(part -> part.name() + ": " + part.detail())
                .findFirst();
    }

    @Override
    public void close() {
        thread.close();
    }
}
