package io.farpage.bench.guest;

import io.farpage.agent.control.guest.GuestRequest;
import io.farpage.agent.control.guest.GuestStatus;
import io.farpage.agent.control.guest.ParkRequest;
import io.farpage.agent.control.guest.ParkResult;
import io.farpage.agent.control.guest.SnapshotPreparation;
import io.farpage.agent.control.guest.SnapshotStatus;
import io.farpage.bench.cluster.AgentFlags;
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
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** A guest in this process whose pages one agent pages and another one stores. Used by one thread. */
public final class BenchGuest implements AutoCloseable {
    private static final int PAGE = 4096;
    private static final int WORDS = PAGE / Long.BYTES;
    private static final Duration DEADLINE = Duration.ofSeconds(20);
    private static final Duration UNPARKED = Duration.ofMinutes(2);
    private static final long LOOK_MILLIS = 1;

    private final GuestAgents agents;
    private final String space;
    private final GuestMemory memory;
    private final Handoff handoff;
    private final MemorySegment page = Arena.ofAuto().allocate(PAGE, Long.BYTES);

    private BenchGuest(GuestAgents agents, String space, GuestMemory memory, Handoff handoff) {
        this.agents = agents;
        this.space = space;
        this.memory = memory;
        this.handoff = handoff;
    }

    /** A guest of a new space, whose VMM has handed its memory over. */
    static BenchGuest begin(GuestAgents agents, String space, GuestAgents.Setting setting) throws InterruptedException {
        Path socket = agents.scratch().resolve(space + ".sock");
        agents.client()
                .attach(
                        space,
                        new GuestRequest(
                                socket.toString(),
                                OptionalLong.of(setting.bytes()),
                                OptionalInt.empty(),
                                setting.thin() ? Optional.empty() : Optional.of(List.of(AgentFlags.HOME)),
                                OptionalInt.empty(),
                                setting.local(),
                                setting.local().isPresent() ? OptionalInt.of(1) : OptionalInt.empty(),
                                Optional.of(false),
                                Optional.empty(),
                                Optional.empty(),
                                Optional.empty(),
                                Optional.empty(),
                                Optional.empty(),
                                Optional.empty(),
                                setting.thin() ? Optional.of(true) : Optional.empty(),
                                Optional.empty(),
                                Optional.empty()));
        GuestMemory memory = GuestMemory.map(GuestMemory.Backing.MEMFD, setting.bytes());
        return new BenchGuest(agents, space, memory, Handoff.of(memory, socket, 1));
    }

    /** How many pages it has. */
    public int pages() {
        return (int) (memory.bytes() / PAGE);
    }

    /** Where a page is in this process. */
    public long address(int number) {
        return memory.address() + (long) number * PAGE;
    }

    /** Its faults so far. */
    public GuestStatus.Faults faults() throws InterruptedException {
        return agents.client().guest(space).faults();
    }

    /** Writes every page; the content depends on the round. */
    public void write(int round) {
        for (int number = 0; number < pages(); number++) {
            for (int word = 0; word < WORDS; word++) {
                page.setAtIndex(ValueLayout.JAVA_LONG, word, content(round, number, word));
            }
            PagedAccess.write(address(number), page);
        }
    }

    /** Reads every page. */
    public void check(int round) {
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
    public Duration park() throws InterruptedException {
        long began = System.nanoTime();
        ParkResult result = agents.client()
                .park(space, new ParkRequest(OptionalLong.empty(), OptionalLong.of(DEADLINE.toMillis())));
        Duration elapsed = Duration.ofNanos(System.nanoTime() - began);
        if (!result.complete()) {
            throw new CommandException("not parked within %d s: %s".formatted(DEADLINE.toSeconds(), result.detail()));
        }
        return elapsed;
    }

    /** Unparks it. Returns how long it took until all of its pages were resident. */
    public Duration unpark() throws InterruptedException {
        long began = System.nanoTime();
        agents.client().unpark(space);
        while (agents.client().guest(space).where().residentPages() < pages()) {
            if (System.nanoTime() - began > UNPARKED.toNanos()) {
                throw new CommandException("not all pages are resident %d s after the guest was unparked: %s"
                        .formatted(UNPARKED.toSeconds(), agents.lastWords()));
            }
            Thread.sleep(LOOK_MILLIS);
        }
        return Duration.ofNanos(System.nanoTime() - began);
    }

    /** Has the agent protect its pages for a snapshot, while this thread may store. */
    public SnapshotPreparation prepareSnapshot(String name) throws InterruptedException {
        return agents.client().prepareSnapshot(space, name);
    }

    /** Has the agent freeze its pages, while this thread stores nothing. Returns when it may store again. */
    public SnapshotStatus snapshot(String name) throws InterruptedException {
        return agents.client().snapshot(space, name);
    }

    /** How far its snapshot is. */
    public SnapshotStatus snapshot() throws InterruptedException {
        return agents.client().snapshot(space);
    }

    /** Its VMM ends. */
    @Override
    public void close() {
        handoff.close();
        memory.close();
    }
}
