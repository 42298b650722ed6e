package io.farpage.agent.data.coherence;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.agent.data.coherence.DirectoryExtents.Extent;
import io.farpage.agent.data.coherence.SimulatedProcess.Worker;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.memory.Pins;
import io.farpage.agent.data.pager.model.AgentKilled;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.agent.data.pager.page.PagerOptions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Homes and members of one space, the network between them, and threads that load and store words. Every step is one of
 * a random schedule. After each step no page is writable for a member while another one can read it, and each readable
 * copy is the newest version.
 */
final class CoherentWorld implements SimulatedProcess.Observer {
    private static final long SPACE = 7;
    private static final int WORD = 8;

    /**
     * What may happen.
     *
     * @param homes nodes with directories, each for some of the pages
     * @param credits of each side of a channel
     * @param breaks whether channels break
     * @param restarts whether the agents of homes are killed, and their successors begin with what members say
     * @param leaves whether processes end, and others take their places
     * @param kills whether members end without sending their pages home
     * @param adopts whether agents of members are killed, and their successors adopt the processes
     */
    record Setup(
            int homes,
            int members,
            int pages,
            int limit,
            int threads,
            int credits,
            boolean breaks,
            boolean restarts,
            boolean leaves,
            boolean kills,
            boolean adopts) {}

    private final Setup setup;
    private final Random random;
    private final List<SimulatedHome> homes = new ArrayList<>();
    private final List<Node> nodes = new ArrayList<>();
    private final long[] truth;
    /** Pages whose newest version a killed member had. */
    private final boolean[] mayBeLost;

    private final SpaceMap map;
    private long now = 1;
    private long nextAttachment = 1;
    private long nextValue = 1;
    private long loads;
    private long stores;
    private long signals;
    private long adoptions;
    private final StringBuilder trace = new StringBuilder();
    private boolean calm;
    /** Whether a member was killed. */
    private boolean isTorn;

    /** A home: its frames outlive its agent. */
    private final class SimulatedHome {
        final String name;
        final Extent extent;
        Directory directory;

        SimulatedHome(String name, Extent extent) {
            this.name = name;
            this.extent = extent;
            directory = new Directory(SPACE, List.of(extent), false);
        }

        void restart() {
            directory = new Directory(SPACE, List.of(extent), isTorn);
            directory.setMembers(members(homes.indexOf(this)), isTorn, true, List.of());
        }
    }

    /** A node with a member, and its channels, one for each home. */
    private final class Node implements Member.Node {
        final String name;
        MemberId id;
        SimulatedProcess process;
        Member member;

        @Nullable
        PagerEnd end;

        final @Nullable SimulatedChannel[] toHome;
        final @Nullable SimulatedChannel[] fromHome;
        boolean ending;
        /** What outlives the agent. */
        MemorySegment states;

        MemorySegment messages;
        /** Calls of the agent until it is killed; 0 if it is not about to be. */
        int callsLeft;
        /** Whether no agent runs. */
        boolean isDown;
        /** Homes that have cut the killed agent off, and know its successor. */
        final boolean[] hasCutOff;

        @SuppressWarnings("NullAway.Init")
        Node(String name) {
            this.name = name;
            toHome = new SimulatedChannel[setup.homes()];
            fromHome = new SimulatedChannel[setup.homes()];
            hasCutOff = new boolean[setup.homes()];
            begin();
        }

        /** Another process takes part. */
        void begin() {
            id = new MemberId(name, 1, nextAttachment++);
            process = new SimulatedProcess(setup.pages(), setup.threads(), CoherentWorld.this);
            process.onCall = this::called;
            ending = false;
            isDown = false;
            callsLeft = 0;
            states = Arena.ofAuto().allocate(setup.pages());
            messages = Arena.ofAuto().allocate(KeptMember.MESSAGES_BYTES, WORD);
            serve(new KeptMember(states, messages));
        }

        private void serve(KeptMember kept) {
            end = null;
            member = new Member(
                    new MemberGuest(
                            id,
                            SPACE,
                            "s",
                            setup.pages(),
                            process,
                            process,
                            List.of(new GuestRegion(
                                    SimulatedProcess.BASE, (long) setup.pages() * SimulatedProcess.PAGE, 0)),
                            Pins.NONE,
                            kept),
                    () -> map,
                    new PagerOptions(PagerOptions.MIN_LOCAL_PAGES, 1, 1, Duration.ofDays(1)),
                    () -> now,
                    this,
                    how -> end = how);
            member.resize(setup.limit());
        }

        /** The agent enters or leaves a call. */
        private void called() {
            if (callsLeft > 0 && --callsLeft == 0) {
                throw new AgentKilled();
            }
        }

        /** Runs a part of the agent, which may be killed in the midst of it. */
        void run(Runnable part) {
            if (isDown) {
                return;
            }
            try {
                part.run();
            } catch (AgentKilled e) {
                die();
            }
        }

        /** The agent is killed. What it has sent may still arrive, until a home cuts it off. */
        void die() {
            note("the agent of " + name + " is killed");
            callsLeft = 0;
            isDown = true;
            Arrays.fill(hasCutOff, false);
        }

        /** A home cuts the killed agent off. */
        void cutOff(int home) {
            if (isDown && !hasCutOff[home]) {
                note("home " + home + " cuts " + name + " off");
                hasCutOff[home] = true;
                boolean isClosedBefore = random.nextBoolean();
                if (isClosedBefore) {
                    disconnect(home);
                }
                homes.get(home).directory.setMembers(members(home), isTorn, false, channelsOf(home));
                disconnect(home);
            }
        }

        private boolean isCutOff() {
            for (boolean each : hasCutOff) {
                if (!each) {
                    return false;
                }
            }
            return true;
        }

        /** The successor of the killed agent adopts the process. */
        void adopt() {
            if (!isDown || !isCutOff()) {
                return;
            }
            note(name + " is adopted: " + HexFormat.of().formatHex(states.toArray(JAVA_BYTE)));
            KeptMember kept = new KeptMember(states, messages);
            try {
                Optional<String> failure = kept.adopt(process);
                if (failure.isPresent()) {
                    throw new AssertionError(failure.get());
                }
            } catch (AgentKilled e) {
                // Another successor begins with what this one has left.
                return;
            }
            adoptions++;
            id = heir();
            isDown = false;
            serve(kept);
        }

        private MemberId heir() {
            return new MemberId(name, id.incarnation() + 1, id.attachment());
        }

        /** The member as a home knows it. */
        MemberId knownTo(int home) {
            return isDown && hasCutOff[home] ? heir() : id;
        }

        @Override
        public List<SimulatedChannel> channels() {
            return open(this);
        }

        @Override
        public void closed(Member of) {}

        void connect(int home) {
            SimulatedChannel to = new SimulatedChannel(homes.get(home).name, 1, setup.credits());
            to.onSend = this::called;
            SimulatedChannel from = new SimulatedChannel(name, id.incarnation(), setup.credits());
            toHome[home] = to;
            fromHome[home] = from;
            if (random.nextBoolean()) {
                member.onOpened(to);
                homes.get(home).directory.onOpened(from);
            } else {
                homes.get(home).directory.onOpened(from);
                member.onOpened(to);
            }
        }

        void disconnect(int home) {
            SimulatedChannel to = toHome[home];
            SimulatedChannel from = fromHome[home];
            if (to != null && from != null) {
                to.close();
                from.close();
                toHome[home] = null;
                fromHome[home] = null;
                if (!isDown) {
                    member.onClosed(to);
                }
                homes.get(home).directory.onClosed(from);
            }
        }
    }

    CoherentWorld(Setup setup, long seed) {
        this.setup = setup;
        random = new Random(seed);
        truth = new long[setup.pages()];
        mayBeLost = new boolean[setup.pages()];
        List<SpaceMap.Extent> extents = new ArrayList<>();
        int each = setup.pages() / setup.homes();
        for (int i = 0; i < setup.homes(); i++) {
            int first = i * each;
            int count = i == setup.homes() - 1 ? setup.pages() - first : each;
            MemorySegment frames = Arena.ofAuto().allocate((long) count * SimulatedProcess.PAGE, WORD);
            homes.add(new SimulatedHome("home" + i, new Extent(first, frames)));
            extents.add(new SpaceMap.Extent(
                    first, count, "home" + i, 1, 0, false, List.of(), 1, Optional.empty(), SpaceMap.Pull.NONE));
        }
        map = new SpaceMap("s", SPACE, setup.pages(), SimulatedProcess.PAGE, extents, 1);
        for (int i = 0; i < setup.members(); i++) {
            nodes.add(new Node("node" + i));
        }
        for (int i = 0; i < setup.homes(); i++) {
            homes.get(i).directory.setMembers(members(i), isTorn, true, channelsOf(i));
            for (Node node : nodes) {
                node.connect(i);
            }
        }
    }

    private Set<MemberId> members(int home) {
        Set<MemberId> all = new HashSet<>();
        nodes.forEach(node -> all.add(node.knownTo(home)));
        return all;
    }

    private static List<SimulatedChannel> open(Node node) {
        List<SimulatedChannel> open = new ArrayList<>();
        for (SimulatedChannel channel : node.toHome) {
            if (channel != null) {
                open.add(channel);
            }
        }
        return open;
    }

    private List<SimulatedChannel> channelsOf(int home) {
        List<SimulatedChannel> open = new ArrayList<>();
        for (Node node : nodes) {
            SimulatedChannel channel = node.fromHome[home];
            if (channel != null) {
                open.add(channel);
            }
        }
        return open;
    }

    long loads() {
        return loads;
    }

    long stores() {
        return stores;
    }

    long adoptions() {
        return adoptions;
    }

    long signals() {
        return signals;
    }

    /** Runs a schedule, and then without disturbances until all threads are done. */
    void run(int steps) {
        for (int i = 0; i < steps; i++) {
            step();
            check();
        }
        calm = true;
        for (Node node : nodes) {
            node.process.isShort = false;
            node.callsLeft = 0;
            for (int home = 0; home < setup.homes(); home++) {
                node.cutOff(home);
            }
            node.adopt();
            for (int home = 0; home < setup.homes(); home++) {
                if (node.toHome[home] == null) {
                    node.connect(home);
                }
            }
        }
        for (int i = 0; i < 20_000 && !isDone(); i++) {
            now += 100_000;
            for (Node node : nodes) {
                for (int home = 0; home < setup.homes(); home++) {
                    deliver(node, home, true);
                    deliver(node, home, false);
                }
                node.run(() -> cycle(node));
                node.process.workers.forEach(worker -> runThread(node, worker));
            }
            homes.forEach(home -> home.directory.send());
            nodes.stream()
                    .filter(node -> node.ending && !node.isDown && node.end != null)
                    .forEach(this::succeed);
            check();
        }
        if (!isDone()) {
            throw new AssertionError("threads wait for ever: " + describe());
        }
    }

    private boolean isDone() {
        return nodes.stream()
                .allMatch(node -> !node.ending
                        && node.process.workers.stream().allMatch(worker -> worker.isIdle() || !node.process.alive));
    }

    private void step() {
        Node node = nodes.get(random.nextInt(nodes.size()));
        int home = random.nextInt(setup.homes());
        int what = random.nextInt(1000);
        if (node.isDown && random.nextInt(20) == 0) {
            node.cutOff(home);
            node.adopt();
        }
        if (what < 350) {
            deliver(node, home, random.nextBoolean());
        } else if (what < 550) {
            node.run(() -> cycle(node));
        } else if (what < 700) {
            homes.get(home).directory.send();
        } else if (what < 960) {
            runThread(node, node.process.workers.get(random.nextInt(setup.threads())));
        } else if (what < 975) {
            now += random.nextLong(3_000_000);
        } else if (what < 978) {
            node.process.isShort = !node.process.isShort;
        } else if (what < 984) {
            if (setup.breaks()) {
                note("channel of " + node.name + " and home " + home);
                if (node.toHome[home] != null) {
                    node.disconnect(home);
                } else if (!node.isDown) {
                    node.connect(home);
                }
            }
        } else if (what < 985) {
            if (setup.restarts()) {
                restart(home);
            }
        } else if (what < 987) {
            if (setup.leaves()) {
                leave(node);
            }
        } else if (what < 988) {
            if (setup.kills() && random.nextInt(4) == 0) {
                kill(node);
            }
        } else if (setup.adopts()) {
            adoptions(node, home, what);
        }
        if (node.ending && !node.isDown && node.end != null) {
            succeed(node);
        }
    }

    private void adoptions(Node node, int home, int what) {
        if (what < 992) {
            node.callsLeft = 1 + random.nextInt(20);
        } else if (what < 993) {
            node.run(node::die);
        }
        if (!node.isDown && node.toHome[home] == null && !setup.breaks()) {
            node.connect(home);
        }
    }

    private void note(String what) {
        if (trace.length() < 1_000_000) {
            trace.append(what).append('\n');
        }
    }

    private void deliver(Node node, int home, boolean toHome) {
        SimulatedChannel to = node.toHome[home];
        SimulatedChannel from = node.fromHome[home];
        if (to == null || from == null) {
            return;
        }
        if (toHome && !to.isEmpty()) {
            MemorySegment message = to.deliver();
            note(node.name + " to home " + home + ": " + text(message));
            homes.get(home).directory.onMessage(from, message);
        } else if (!toHome && !from.isEmpty()) {
            MemorySegment message = from.deliver();
            note("home " + home + " to " + node.name + ": " + text(message));
            node.run(() -> node.member.onMessage(to, message));
        }
    }

    private static String text(MemorySegment message) {
        return CoherentMessage.kind(message) + " " + CoherentMessage.page(message)
                + (CoherentMessage.hasPayload(message)
                        ? " = " + message.get(JAVA_LONG, CoherentMessage.HEADER_BYTES)
                        : "");
    }

    private void cycle(Node node) {
        if (random.nextBoolean()) {
            node.member.doUrgentWork();
        }
        if (!node.process.alive) {
            node.member.probe();
        }
        node.member.doWork();
    }

    private void runThread(Node node, Worker worker) {
        if (worker.waits || !node.process.alive) {
            return;
        }
        if (worker.isIdle()) {
            if (calm) {
                return;
            }
            worker.page = random.nextInt(setup.pages());
            worker.isStore = random.nextBoolean();
            worker.value = nextValue++;
        }
        node.process.run(worker);
    }

    private void restart(int home) {
        note("home " + home + " restarts");
        nodes.forEach(node -> node.disconnect(home));
        homes.get(home).restart();
    }

    /** The process of a node ends. */
    private void leave(Node node) {
        if (!node.ending) {
            note(node.name + " ends");
            node.ending = true;
            node.process.end();
        }
    }

    /** The pages of a process that has ended are at the homes: another one begins. */
    private void succeed(Node node) {
        note(node.name + " is succeeded");
        if (node.end == null || !node.end.saved()) {
            throw new AssertionError("the pages of a process that has ended were not saved: " + node.end);
        }
        replace(node);
    }

    /** A node is cut off with what it has. */
    private void kill(Node node) {
        note(node.name + " is killed");
        isTorn = true;
        for (int page = 0; page < setup.pages(); page++) {
            // A home whose agent was killed does not know what the member had.
            int lost = page;
            mayBeLost[page] |= setup.restarts()
                    || homes.stream()
                            .anyMatch(home -> !home.directory.isComplete()
                                    || home.directory.isOwner(node.knownTo(homes.indexOf(home)), lost));
        }
        node.process.end();
        replace(node);
    }

    private void replace(Node node) {
        for (int home = 0; home < setup.homes(); home++) {
            if (random.nextBoolean()) {
                node.disconnect(home);
            }
        }
        if (node.isDown || setup.adopts()) {
            for (int home = 0; home < setup.homes(); home++) {
                node.disconnect(home);
            }
        }
        node.begin();
        for (int home = 0; home < setup.homes(); home++) {
            homes.get(home).directory.setMembers(members(home), isTorn, false, channelsOf(home));
        }
    }

    /** What must hold after every step. */
    private void check() {
        for (int page = 0; page < setup.pages(); page++) {
            int readers = 0;
            int writers = 0;
            for (Node node : nodes) {
                readers += node.process.isReadable(page) ? 1 : 0;
                writers += node.process.isWritable(page) ? 1 : 0;
                if (node.process.isReadable(page) && node.process.word(page) != truth[page]) {
                    throw new AssertionError("%s can read an older version of page %d: %d instead of %d: %s"
                            .formatted(node.name, page, node.process.word(page), truth[page], describe()));
                }
            }
            if (writers > 1 || (writers == 1 && readers > 1)) {
                throw new AssertionError("page " + page + " is writable, and others have it: " + describe());
            }
        }
    }

    @Override
    public void loaded(SimulatedProcess by, int page, long value) {
        loads++;
        if (value != truth[page]) {
            throw new AssertionError(
                    "loaded %d of page %d instead of %d: %s".formatted(value, page, truth[page], describe()));
        }
    }

    @Override
    public void stored(SimulatedProcess by, int page, long value) {
        stores++;
        note("stored to page " + page + ": " + value);
        truth[page] = value;
    }

    @Override
    public void killed(SimulatedProcess by, int page) {
        signals++;
        if (!mayBeLost[page]) {
            throw new AssertionError("SIGBUS of page " + page + ", which no killed member had: " + describe());
        }
    }

    String describe() {
        StringBuilder text = new StringBuilder(setup + "\n");
        text.append(trace.substring(Math.max(0, trace.length() - 6000)));
        for (Node node : nodes) {
            text.append(node.name).append(node.ending ? " (ending)" : "").append(": ");
            text.append(node.process.workers).append(' ');
            for (int page = 0; page < setup.pages(); page++) {
                text.append(page)
                        .append(": ")
                        .append(node.process.describe(page))
                        .append("; ");
            }
            text.append(List.of(open(node)))
                    .append(' ')
                    .append(node.member.failure())
                    .append('\n');
        }
        return text.toString();
    }
}
