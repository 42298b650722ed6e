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
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Homes and members of one space, the network between them, and threads that load and store words. A schedule decides
 * what happens next. After each step no page is writable for a member while another one can read it, and each readable
 * copy is the newest version.
 */
final class CoherentWorld implements SimulatedProcess.Observer {
    private static final long SPACE = 7;
    private static final int WORD = 8;

    /** What may happen besides. */
    enum Event {
        /** Channels break. */
        BREAKS,
        /** Agents of homes are killed, and their successors begin with what members say. */
        RESTARTS,
        /** Processes end, and others take their places. */
        LEAVES,
        /** Members end without sending their pages home. */
        KILLS,
        /** Agents of members are killed, and their successors adopt the processes. */
        ADOPTS,
        /** Each page has a second home, and a first one may be dropped: at once, though it may live on for a while. */
        DROPS
    }

    /**
     * What there is.
     *
     * @param homes nodes with directories, each for some of the pages; behind them their second homes, if there are any
     * @param credits of each side of a channel
     * @param window pages that a fault requests at most
     */
    record Setup(
            int homes, int members, int pages, int limit, int threads, int credits, int window, Set<Event> events) {
        boolean has(Event event) {
            return events.contains(event);
        }

        /** How many nodes are homes. */
        int places() {
            return has(Event.DROPS) ? 2 * homes : homes;
        }
    }

    final Setup setup;
    private final Random random;
    final List<SimulatedHome> homes = new ArrayList<>();
    final List<Node> nodes = new ArrayList<>();
    private final long[] truth;
    /** Pages whose newest version a killed member had. */
    private final boolean[] mayBeLost;

    /** By extent: whether its first home was dropped. */
    private final boolean[] dropped;
    /** By home: its channel to the other home of its extent. */
    final @Nullable SimulatedChannel[] mirrors;

    private SpaceMap map;
    /** Monotonic nanoseconds. */
    long now = 1;

    private long nextAttachment = 1;
    private long nextValue = 1;
    private long sessions;
    private long loads;
    private long stores;
    private long signals;
    private long adoptions;
    private long drops;
    private final StringBuilder trace = new StringBuilder();
    /** Whether a member was killed. */
    private boolean isTorn;

    /** A home. Its frames outlive its agent, which has the directory, is the second home, or no longer is a home. */
    final class SimulatedHome {
        final String name;
        final int number;
        final Extent extent;

        @Nullable
        Directory directory;

        @Nullable
        SecondHome second;

        SimulatedHome(int number, Extent extent) {
            this.number = number;
            name = "home" + number;
            this.extent = extent;
        }

        /** The coordinator has the first home dropped. */
        boolean isDropped() {
            return dropped[number % setup.homes()] && number < setup.homes();
        }

        boolean isFirst() {
            return dropped[number % setup.homes()] == (number >= setup.homes());
        }

        /** Reads what the coordinator says of its part. */
        void follow(boolean isNew) {
            if (isDropped()) {
                directory = null;
            } else if (!isFirst()) {
                SecondHome now = second == null ? new SecondHome(SPACE, extent.frames(), () -> nextSession()) : second;
                second = now;
                now.set(List.of(place()), mirrorChannels());
            } else {
                Directory now = new Directory(SPACE, List.of(extent), isTorn && !isNew, () -> nextSession());
                directory = now;
                second = null;
                boolean hasSecond = setup.has(Event.DROPS) && number < setup.homes();
                now.setSecondHomes(
                        List.of(hasSecond ? Optional.of("home" + (number + setup.homes())) : Optional.empty()),
                        mirrorChannels());
                now.setMembers(members(number), isTorn, true, channelsOf(number));
            }
        }

        private HostedExtent place() {
            return new HostedExtent(
                    SPACE,
                    extent.firstPage(),
                    extent.pages(),
                    0,
                    false,
                    Set.of(),
                    Optional.of("home" + (number - setup.homes())),
                    Optional.empty(),
                    false);
        }

        private List<SimulatedChannel> mirrorChannels() {
            SimulatedChannel channel = mirrors[number];
            return channel == null ? List.of() : List.of(channel);
        }

        void onOpened(SimulatedChannel channel) {
            if (directory != null) {
                directory.onOpened(channel);
            }
        }

        void onClosed(SimulatedChannel channel) {
            if (directory != null) {
                directory.onClosed(channel);
            }
            if (second != null) {
                second.onClosed(channel);
            }
        }

        void onMessage(SimulatedChannel channel, MemorySegment message) {
            MessageKind kind = CoherentMessage.kind(message);
            boolean isForSecond = kind == MessageKind.MIRROR || kind == MessageKind.MIRROR_JOIN;
            if (isForSecond && second != null) {
                second.onMessage(channel, message);
            } else if (!isForSecond && directory != null) {
                directory.onMessage(channel, message);
            }
        }

        void send() {
            if (directory != null) {
                directory.send();
            }
            if (second != null) {
                second.send();
            }
        }

        void setMembers() {
            if (directory != null && !isDropped()) {
                directory.setMembers(members(number), isTorn, false, channelsOf(number));
            }
        }

        void restart() {
            disconnectMirror(number % setup.homes());
            directory = null;
            second = null;
            follow(false);
        }
    }

    /** A node with a member, and its channels, one for each home. */
    final class Node implements Member.Node {
        final String name;
        MemberId id;
        SimulatedProcess process;
        Member member;
        /** As its agent has it. */
        SpaceMap known;

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
            toHome = new SimulatedChannel[setup.places()];
            fromHome = new SimulatedChannel[setup.places()];
            hasCutOff = new boolean[setup.places()];
            begin();
        }

        /** Another process takes part. */
        void begin() {
            id = new MemberId(name, 1, nextAttachment++);
            known = map;
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
                    () -> known,
                    new PagerOptions(PagerOptions.MIN_LOCAL_PAGES, setup.window(), 1, Duration.ofDays(1)),
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
                homes.get(home).setMembers();
                disconnect(home);
            }
        }

        private boolean isCutOff() {
            for (int home = 0; home < hasCutOff.length; home++) {
                if (!hasCutOff[home] && !homes.get(home).isDropped()) {
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
            // A home that does not know yet that it was dropped has not cut the agent before off.
            homes.stream().filter(SimulatedHome::isDropped).forEach(home -> disconnect(home.number));
            id = heir();
            isDown = false;
            serve(kept);
        }

        /** Whether its agent has not read which homes there are now. */
        boolean isBehind() {
            return known != map;
        }

        /** Its agent reads which homes there are. */
        void follow() {
            known = map;
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
                homes.get(home).onOpened(from);
            } else {
                homes.get(home).onOpened(from);
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
                homes.get(home).onClosed(from);
            }
        }
    }

    /** @param random what is left to chance in an event */
    CoherentWorld(Setup setup, Random random) {
        this.setup = setup;
        this.random = random;
        truth = new long[setup.pages()];
        mayBeLost = new boolean[setup.pages()];
        dropped = new boolean[setup.homes()];
        mirrors = new SimulatedChannel[setup.places()];
        int each = setup.pages() / setup.homes();
        for (int i = 0; i < setup.places(); i++) {
            int extent = i % setup.homes();
            int first = extent * each;
            int count = extent == setup.homes() - 1 ? setup.pages() - first : each;
            MemorySegment frames = Arena.ofAuto().allocate((long) count * SimulatedProcess.PAGE, WORD);
            homes.add(new SimulatedHome(i, new Extent(first, frames)));
        }
        map = map();
        for (int i = 0; i < setup.members(); i++) {
            nodes.add(new Node("node" + i));
        }
        for (SimulatedHome home : homes) {
            home.follow(true);
            for (Node node : nodes) {
                node.connect(home.number);
            }
        }
        for (int extent = 0; extent < setup.homes(); extent++) {
            connectMirror(extent);
        }
    }

    private SpaceMap map() {
        List<SpaceMap.Extent> extents = new ArrayList<>();
        for (int i = 0; i < setup.homes(); i++) {
            SimulatedHome home = homes.get(dropped[i] ? i + setup.homes() : i);
            extents.add(new SpaceMap.Extent(
                    home.extent.firstPage(),
                    home.extent.pages(),
                    home.name,
                    1,
                    0,
                    false,
                    List.of(),
                    1,
                    Optional.empty(),
                    SpaceMap.Pull.NONE));
        }
        return new SpaceMap("s", SPACE, setup.pages(), SimulatedProcess.PAGE, extents, 1);
    }

    /** The two homes of an extent exchange messages, if it has two. */
    void connectMirror(int extent) {
        if (!setup.has(Event.DROPS)) {
            return;
        }
        int other = extent + setup.homes();
        SimulatedChannel toOther = new SimulatedChannel("home" + other, 1, setup.credits());
        SimulatedChannel toFirst = new SimulatedChannel("home" + extent, 1, setup.credits());
        mirrors[extent] = toOther;
        mirrors[other] = toFirst;
        homes.get(extent).onOpened(toOther);
        homes.get(other).onOpened(toFirst);
    }

    void disconnectMirror(int extent) {
        if (!setup.has(Event.DROPS)) {
            return;
        }
        for (int home = extent; home < setup.places(); home += setup.homes()) {
            SimulatedChannel channel = mirrors[home];
            if (channel != null) {
                channel.close();
                mirrors[home] = null;
                homes.get(home).onClosed(channel);
            }
        }
    }

    void deliverMirror(int from) {
        int to = from < setup.homes() ? from + setup.homes() : from - setup.homes();
        SimulatedChannel sending = mirrors[from];
        SimulatedChannel receiving = to < setup.places() ? mirrors[to] : null;
        if (sending != null && receiving != null && !sending.isEmpty()) {
            MemorySegment message = sending.deliver();
            note("home " + from + " to home " + to + ": " + text(message));
            homes.get(to).onMessage(receiving, message);
        }
    }

    /** The second home of an extent is the first from now on. The former one, and members, learn of it later. */
    void drop(int extent) {
        if (!dropped[extent]) {
            note("home " + extent + " is dropped");
            dropped[extent] = true;
            map = map();
            homes.get(extent + setup.homes()).follow(false);
            drops++;
        }
    }

    private long nextSession() {
        return ++sessions;
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

    long drops() {
        return drops;
    }

    long signals() {
        return signals;
    }

    void note(String what) {
        if (trace.length() < 1_000_000) {
            trace.append(what).append('\n');
        }
    }

    void deliver(Node node, int home, boolean toHome) {
        SimulatedChannel to = node.toHome[home];
        SimulatedChannel from = node.fromHome[home];
        if (to == null || from == null) {
            return;
        }
        if (toHome && !to.isEmpty()) {
            MemorySegment message = to.deliver();
            note(node.name + " to home " + home + ": " + text(message));
            homes.get(home).onMessage(from, message);
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

    /** The agent of a node, if one runs, goes on. */
    void cycle(Node node) {
        node.run(() -> {
            if (random.nextBoolean()) {
                node.member.doUrgentWork();
            }
            if (!node.process.alive) {
                node.member.probe();
            }
            node.member.doWork();
            if (node.member.isQuiescent()) {
                int left = node.member.doWork();
                if (left != 0) {
                    throw new AssertionError(node.name + " is quiescent, and had work: " + describe());
                }
            }
        });
    }

    /** A thread begins to load or store. */
    void begin(Worker worker, int page, boolean isStore) {
        worker.page = page;
        worker.last = page;
        worker.isStore = isStore;
        worker.value = nextValue++;
    }

    /** A process that has ended, and whose pages are at the homes, is succeeded by another one. */
    void succeedEnded() {
        nodes.stream()
                .filter(node -> node.ending && !node.isDown && node.end != null)
                .forEach(this::succeed);
    }

    void restart(int home) {
        note("home " + home + " restarts");
        nodes.forEach(node -> node.disconnect(home));
        homes.get(home).restart();
    }

    /** The process of a node ends. */
    void leave(Node node) {
        if (!node.ending) {
            note(node.name + " ends");
            node.ending = true;
            node.process.end();
        }
    }

    /** The pages of a process that has ended are at the homes: another one begins. */
    void succeed(Node node) {
        note(node.name + " is succeeded");
        if (node.end == null || !node.end.saved()) {
            throw new AssertionError(
                    "the pages of a process that has ended were not saved: " + node.end + ": " + describe());
        }
        replace(node);
    }

    /** A node is cut off with what it has. */
    void kill(Node node) {
        note(node.name + " is killed");
        isTorn = true;
        for (int page = 0; page < setup.pages(); page++) {
            // A home whose agent was killed does not know what the member had.
            int lost = page;
            mayBeLost[page] |= setup.has(Event.RESTARTS)
                    || setup.has(Event.DROPS)
                    || homes.stream()
                            .map(home -> Objects.requireNonNull(home.directory))
                            .anyMatch(directory -> !directory.isComplete()
                                    || directory.isOwner(node.id, lost)
                                    || directory.isOwner(node.heir(), lost));
        }
        node.process.end();
        replace(node);
    }

    private void replace(Node node) {
        for (int home = 0; home < setup.places(); home++) {
            if (random.nextBoolean()) {
                node.disconnect(home);
            }
        }
        if (node.isDown || setup.has(Event.ADOPTS)) {
            for (int home = 0; home < setup.places(); home++) {
                node.disconnect(home);
            }
        }
        node.begin();
        homes.forEach(SimulatedHome::setMembers);
    }

    /** Whether a version of a page is the newest one. */
    String age(int page, long value) {
        return value == truth[page] ? "new" : "old";
    }

    /** What must hold after every step. */
    void check() {
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
