package io.farpage.bench.park;

import io.farpage.agent.control.guest.GuestRequest;
import io.farpage.agent.control.guest.ParkRequest;
import io.farpage.agent.control.guest.ParkResult;
import io.farpage.bench.cluster.AgentClient;
import io.farpage.bench.cluster.AgentFlags;
import io.farpage.bench.cluster.AgentPair;
import io.farpage.bench.cluster.AgentProcess;
import io.farpage.bench.cluster.Coordinator;
import io.farpage.bench.cluster.Idle;
import io.farpage.bench.process.Children;
import io.farpage.guest.command.CommandException;
import io.farpage.guest.vmm.GuestMemory;
import io.farpage.guest.vmm.Handoff;
import io.farpage.linux.uffd.PagedAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** A guest in this process whose pages one agent pages and another one stores. Used by one thread. */
final class ParkedGuest implements AutoCloseable {
    private static final String SPACE = "bench-park";
    private static final int PAGE = 4096;
    private static final int WORDS = PAGE / Long.BYTES;
    private static final long STAGING = 16L << 20;
    private static final Duration DEADLINE = Duration.ofSeconds(20);
    private static final Duration UNPARKED = Duration.ofMinutes(2);
    private static final long LOOK_MILLIS = 1;

    private final AgentPair agents;
    private final AgentClient client;
    private final GuestMemory memory;
    private final Handoff handoff;
    private final MemorySegment page = Arena.ofAuto().allocate(PAGE, Long.BYTES);

    /**
     * How it is served.
     *
     * @param idle how both agents wait
     * @param bytes of its memory
     * @param thin whether its space gets room when pages are written first
     */
    record Setting(Idle idle, int homeCpu, int nodeCpu, long bytes, boolean thin) {}

    private ParkedGuest(AgentPair agents, AgentClient client, GuestMemory memory, Handoff handoff) {
        this.agents = agents;
        this.client = client;
        this.memory = memory;
        this.handoff = handoff;
    }

    static ParkedGuest start(Children children, Coordinator coordinator, Setting setting) throws InterruptedException {
        AgentFlags flags = new AgentFlags(coordinator.url(), "tcp", setting.idle(), setting.bytes(), Map.of());
        AgentProcess home = AgentProcess.start(children, "home", flags.home(setting.homeCpu()));
        AgentProcess node = AgentProcess.start(children, "node", flags.node(setting.nodeCpu(), STAGING));
        AgentClient client = new AgentClient(node.awaitPort());
        home.awaitPort();
        coordinator.awaitActive(List.of(AgentFlags.HOME));
        Path socket = children.scratch().resolve("guest.sock");
        client.attach(
                SPACE,
                new GuestRequest(
                        socket.toString(),
                        OptionalLong.of(setting.bytes()),
                        OptionalInt.empty(),
                        setting.thin() ? Optional.empty() : Optional.of(List.of(AgentFlags.HOME)),
                        OptionalInt.empty(),
                        OptionalLong.empty(),
                        OptionalInt.empty(),
                        Optional.of(false),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        setting.thin() ? Optional.of(true) : Optional.empty(),
                        Optional.empty()));
        GuestMemory memory = GuestMemory.map(GuestMemory.Backing.MEMFD, setting.bytes());
        return new ParkedGuest(new AgentPair(home, node.child()), client, memory, Handoff.of(memory, socket, 1));
    }

    private int pages() {
        return (int) (memory.bytes() / PAGE);
    }

    private long address(int number) {
        return memory.address() + (long) number * PAGE;
    }

    /** Writes every page; the content depends on the round. */
    void write(int round) {
        for (int number = 0; number < pages(); number++) {
            for (int word = 0; word < WORDS; word++) {
                page.setAtIndex(ValueLayout.JAVA_LONG, word, content(round, number, word));
            }
            PagedAccess.write(address(number), page);
        }
    }

    /** Reads every page. */
    void check(int round) {
        for (int number = 0; number < pages(); number++) {
            PagedAccess.read(address(number), page);
            for (int word = 0; word < WORDS; word++) {
                long found = page.getAtIndex(ValueLayout.JAVA_LONG, word);
                if (found != content(round, number, word)) {
                    throw new CommandException("page %d holds %016x in word %d, expected %016x"
                            .formatted(number, found, word, content(round, number, word)));
                }
            }
        }
    }

    private static long content(int round, int number, int word) {
        return 0x9e37_79b9_7f4a_7c15L * ((long) number * WORDS + word + 1) + round;
    }

    /** Parks it. Returns how long that took. */
    Duration park() throws InterruptedException {
        long began = System.nanoTime();
        ParkResult result =
                client.park(SPACE, new ParkRequest(OptionalLong.empty(), OptionalLong.of(DEADLINE.toMillis())));
        Duration elapsed = Duration.ofNanos(System.nanoTime() - began);
        if (!result.complete()) {
            throw new CommandException("not parked within %d s: %s".formatted(DEADLINE.toSeconds(), result.detail()));
        }
        return elapsed;
    }

    /** Unparks it. Returns how long it took until all of its pages were resident. */
    Duration unpark() throws InterruptedException {
        long began = System.nanoTime();
        client.unpark(SPACE);
        while (client.guest(SPACE).where().residentPages() < pages()) {
            if (System.nanoTime() - began > UNPARKED.toNanos()) {
                throw new CommandException("not all pages are resident %d s after the guest was unparked: %s"
                        .formatted(UNPARKED.toSeconds(), agents.node().lastWords()));
            }
            Thread.sleep(LOOK_MILLIS);
        }
        return Duration.ofNanos(System.nanoTime() - began);
    }

    /** Takes both agents off the CPU meanwhile. */
    <T> T whilePaused(AgentPair.Paused<T> work) throws InterruptedException {
        return agents.whilePaused(work);
    }

    @Override
    public void close() {
        agents.resume();
        handoff.close();
        memory.close();
        client.close();
        agents.node().close();
        agents.home().close();
    }
}
