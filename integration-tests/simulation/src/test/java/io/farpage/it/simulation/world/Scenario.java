package io.farpage.it.simulation.world;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.store.Table;
import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.Node;
import io.farpage.it.simulation.engine.SimulatedStore;
import io.farpage.it.simulation.engine.SocketHooks;
import io.farpage.it.simulation.engine.SparseMemory;
import io.farpage.it.simulation.guest.Guest;
import io.farpage.it.simulation.guest.GuestKernel;
import io.farpage.it.simulation.guest.MemoryShape;
import io.farpage.it.simulation.loader.LoggedErrors;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;

/**
 * What happens in a simulation: a cluster forms, guests run, faults come, faults stop, and everything must be well
 * again.
 */
public final class Scenario {
    private static final long SECOND = 1_000_000_000L;

    private final Engine engine;
    private final Map<String, String> options;
    private final Variant variant;
    private final Cluster cluster;
    /** The guests that stay. */
    private final List<Guest> guests = new ArrayList<>();
    /** The hosts that guests are on, or go to, by guest. */
    private final Map<Guest, Set<String>> hosts = new LinkedHashMap<>();

    /** The hosts that serve guests, which neither come nor go, by space. */
    private final Map<String, String> served = new LinkedHashMap<>();
    /** The hosts that guests are about to leave, whose VMM has ended. */
    private final Map<Guest, String> leaving = new LinkedHashMap<>();
    /** The hosts that guests come to whose memory no agent has taken yet. */
    private final Map<Guest, String> coming = new LinkedHashMap<>();
    /** The snapshots of clones that are made when they enter. */
    private final Map<Guest, String> entering = new HashMap<>();
    /** The agents that wait for the VMMs of guests. */
    private final Map<Guest, Node> awaited = new HashMap<>();
    /** Hosts from which a guest is taken away: their agent goes on until that is done. */
    private final List<String> reserved = new ArrayList<>();
    /** Hosts whose agent may be about to hand over. */
    private final Set<String> handingOver = new HashSet<>();
    /** The guests of encrypted spaces. */
    private final Set<Guest> encrypted = new HashSet<>();

    private final List<Sharing> sharings = new ArrayList<>();

    private final Operator operator;
    private final Verdicts verdicts;
    private final Faults faults;
    private long goneOperations;
    private long goneCompared;

    private Scenario(long seed, Engine engine, Map<String, String> options) {
        this.engine = engine;
        this.options = options;
        variant = Variant.of(seed, engine, options);
        cluster = new Cluster(Path.of(options.get("directory")), variant);
        verdicts = new Verdicts(engine);
        faults = new Faults(this, engine, cluster, verdicts, variant, options);
        operator = new Operator(cluster);
    }

    /** Runs a seed. */
    public static Map<String, String> run(long seed, Map<String, String> options) {
        Engine engine = new Engine(seed);
        Node operator = engine.newNode("operator", "127.0.0.200");
        Scenario[] made = new Scenario[1];
        LoggedErrors.to(
                text -> engine.fail("logged by " + engine.whoRuns() + ": " + text),
                text -> made[0].verdicts.logged(engine.whoRuns(), text));
        Thread.setDefaultUncaughtExceptionHandler((thread, e) -> {
            e.printStackTrace();
            engine.fail("thread " + thread.getName() + " ended: " + e);
        });
        operator.start("operator", () -> {
            try {
                made[0] = new Scenario(seed, engine, options);
                made[0].play();
            } catch (Exception | AssertionError e) {
                e.printStackTrace();
                engine.fail("the scenario failed: " + e);
            }
        });
        long began = engine.now();
        engine.run(began + (long) (Double.parseDouble(options.getOrDefault("until", "100000")) * SECOND));
        SocketHooks.endAll();
        SparseMemory.endAll();
        return made[0] == null
                ? Map.of(
                        "failure",
                        engine.failure().orElse("nothing ran"),
                        "steps",
                        engine.trail().text())
                : made[0].result(engine, began);
    }

    private Map<String, String> result(Engine ended, long began) {
        Map<String, String> result = new HashMap<>();
        ended.failure().ifPresent(why -> result.put("failure", why));
        result.put("fingerprint", Long.toString(ended.fingerprint()));
        result.put("faults", Integer.toString(faults.count()));
        result.put("ended", Double.toString((ended.now() - began) / 1e9));
        result.put(
                "steps", variant + "\n" + ended.trail().text() + "\nextents:" + SimulatedStore.describe(Table.EXTENTS));
        result.put(
                "report",
                String.format(
                        Locale.ROOT,
                        "%.1f virtual s, %d page operations, %d pages compared, %d transfers, %d steps, faults %s",
                        (ended.now() - began) / 1e9,
                        goneOperations
                                + sharings.stream()
                                        .mapToLong(Sharing::operations)
                                        .sum()
                                + guests.stream().mapToLong(Guest::operations).sum(),
                        goneCompared
                                + sharings.stream().mapToLong(Sharing::compared).sum()
                                + guests.stream().mapToLong(Guest::compared).sum(),
                        cluster.fabric().transfers(),
                        ended.steps(),
                        ended.trail().counts()));
        return result;
    }

    private void note(String what) {
        engine.trail().note(engine.elapsed(), what);
    }

    private void play() throws Exception {
        double seconds = Double.parseDouble(options.getOrDefault("seconds", "20"));
        cluster.fabric().onRefusal(verdicts::refused);
        FrameRules rules = new FrameRules(engine, cluster);
        RebuildRules rebuilt = new RebuildRules(engine, cluster, served);
        SimulatedStore.watch(rows -> {
            if (cluster.hasLostStore()) {
                rebuilt.check(rows);
            }
            rules.check(rows);
            verdicts.committed(rows);
        });
        cluster.startCoordinators();
        for (int i = 0; i < variant.nodes(); i++) {
            cluster.start(cluster.add(String.valueOf((char) ('a' + i))));
        }
        await("all nodes are registered", 60, operator::areAllActive);
        note("all nodes are registered");
        if (variant.has(Variant.FRAGMENTS)) {
            Fragments.leave(this, engine);
        }
        for (int i = 1; i <= 2; i++) {
            MemoryShape shape = variant.has(Variant.LARGE) && (i == 1 || engine.oneIn(2))
                    ? large(i)
                    : MemoryShape.small(288 + 32 * engine.random().nextInt(4), i);
            Guest guest = new Guest("g" + i, shape, variant.threads(), variant.pace());
            guests.add(guest);
            attach(guest, anyHost(), fields(guest, 2));
            guest.run();
        }
        List<Churn> churns = new ArrayList<>();
        for (int i = 0; i < variant.churns(); i++) {
            churns.add(new Churn(this, String.valueOf((char) ('x' + i))));
        }
        churns.forEach(churn -> engine.running().start("churn", churn::run));
        if (variant.has(Variant.COHERENT)) {
            sharings.add(new Sharing(this, cluster, faults, operator, "shared"));
            cluster.onHandsOver(host -> sharings.forEach(sharing -> sharing.handedOver(host.id())));
            sharings.forEach(sharing -> engine.running().start("sharing", sharing::run));
        }
        faults.begin();
        Parks parks = new Parks(this, engine, cluster, faults);
        parks.begin();
        engine.pause((long) (seconds * SECOND));
        faults.end();
        parks.end();
        note("faults stop");
        churns.forEach(Churn::stop);
        sharings.forEach(Sharing::stop);
        await(
                "the guests that come and go have gone",
                200,
                () -> churns.stream().allMatch(Churn::hasEnded));
        await(
                "the members of coherent spaces have left",
                300,
                () -> sharings.stream().allMatch(Sharing::hasEnded));
        await("all nodes are registered", 60, operator::areAllActive);
        await("every extent has its homes", 120, operator::isWhole);
        await(
                "every thread of every guest goes on",
                30,
                () -> guests.stream().allMatch(guest -> guest.longestWait() < SECOND + 16 * variant.pace()));
        parks.settle(guests);
        for (Guest guest : guests) {
            stop(guest);
            compare(guest);
        }
        for (Guest guest : guests) {
            move(guest, anyHost());
        }
        for (Cluster.Host host : cluster.hosts()) {
            if (isInUse(host.id())) {
                continue;
            }
            await("every extent has its homes", 120, operator::isWhole);
            note(host.id() + " is killed, its pool is gone");
            verdicts.excuse(host.id(), 10 * SECOND);
            while (!operator.kill(host)) {
                engine.pause(SECOND);
            }
            cluster.start(host);
            for (Guest guest : guests) {
                compare(guest);
            }
            await("all nodes are registered", 60, operator::areAllActive);
        }
        await("every extent has its homes", 120, operator::isWhole);
        engine.end();
    }

    Verdicts verdicts() {
        return verdicts;
    }

    Variant variant() {
        return variant;
    }

    /** What an agent is asked for a new guest. */
    String fields(Guest guest, int replicas) {
        MemoryShape shape = guest.shape();
        // To seal large pages takes long, without the second compiler.
        if (variant.has(Variant.ENCRYPTED) && !shape.isLarge() && engine.oneIn(2)) {
            encrypted.add(guest);
        }
        // Room for an extent must be there in one piece.
        boolean thin = variant.has(Variant.THIN)
                && !variant.has(Variant.FRAGMENTS)
                && !encrypted.contains(guest)
                && engine.oneIn(2);
        return "\"sizeBytes\":%d,\"pageSize\":%d,\"replicas\":%d,\"localBytes\":%d,\"encrypted\":%s%s"
                .formatted(
                        shape.bytes(),
                        shape.pageBytes(),
                        replicas,
                        localBytes(guest),
                        encrypted.contains(guest),
                        thin ? ",\"thin\":true" : "");
    }

    /** Whether a snapshot may be made of what a guest leaves. */
    boolean mayBeCloned(Guest guest) {
        return variant.has(Variant.CLONES) && !encrypted.contains(guest);
    }

    /** Whether a snapshot may be made of a guest that runs. One that is parked by others meanwhile is not paused. */
    boolean mayBeFrozen(Guest guest) {
        return variant.has(Variant.LIVE) && !variant.has(Variant.PARK) && !encrypted.contains(guest);
    }

    /** Makes a snapshot of what a guest has left, and a clone of that, now or when it enters. */
    Guest cloned(Guest left) {
        String name = left.space() + "c";
        awaitUnderFaults("a snapshot of " + left.space() + " is made", 60, () -> operator.makeSnapshot(left.space()));
        Guest clone = left.cloned(name);
        if (engine.oneIn(2)) {
            entering.put(clone, left.space());
        } else {
            awaitUnderFaults(
                    "a clone of " + left.space() + " is made", 60, () -> operator.makeClone(left.space(), name));
        }
        engine.trail().count("clone made");
        note("%s is a clone of %s".formatted(name, left.space()));
        return clone;
    }

    private long localBytes(Guest guest) {
        MemoryShape shape = guest.shape();
        int more = shape.isLarge() ? variant.localPages() / 8 : variant.localPages();
        int parkable = variant.has(Variant.PARK) ? shape.pages() / 2 : 0;
        return (64L * shape.slices() + more + parkable) * shape.pageBytes();
    }

    /** A memory of large pages, as few as can be evicted. */
    MemoryShape large(int slices) {
        return MemoryShape.large(slices * (80 + 16 * engine.random().nextInt(3)), slices);
    }

    String anyHost() {
        return cluster.hosts()
                .get(engine.random().nextInt(cluster.hosts().size()))
                .id();
    }

    /** Whether a guest is on a host, or goes there. */
    boolean isInUse(String host) {
        return hosts.values().stream().anyMatch(used -> used.contains(host));
    }

    /** Whether each guest on a host is served there, leaves it, or comes to it; and none is taken over by it. */
    boolean isSettled(String host) {
        return hosts.entrySet().stream()
                .filter(each -> each.getValue().contains(host))
                .map(Map.Entry::getKey)
                .allMatch(guest -> host.equals(served.get(guest.space()))
                        || host.equals(leaving.get(guest))
                        || host.equals(coming.get(guest)));
    }

    /** Whether a guest comes to a host whose memory no agent has taken yet. */
    boolean isBeingEntered(String host) {
        return coming.containsValue(host);
    }

    /** Whether a guest of a host has ended, and its pages may not be at their homes yet. */
    boolean isBeingLeft(String host) {
        return leaving.containsValue(host);
    }

    /** Whether the agent of a host has, or may have, the guest of a member, which keeps it from handing over. */
    boolean mayHaveMember(String host) {
        return sharings.stream().anyMatch(sharing -> sharing.isUsedBy(host));
    }

    /** Keeps the agent of a host from being replaced, until it may be again. */
    void reserve(String host, boolean begins) {
        if (begins) {
            reserved.add(host);
        } else {
            reserved.remove(host);
        }
    }

    /** Whether the agent of a host may not be replaced now. */
    boolean isReserved(String host) {
        return reserved.contains(host);
    }

    /** Whether an agent waits for the VMM of a guest. */
    boolean isAwaiting(Node agent) {
        return awaited.containsValue(agent);
    }

    boolean isHandingOver(String host) {
        return handingOver.contains(host);
    }

    void handingOver(String host, boolean begins) {
        if (begins) {
            handingOver.add(host);
        } else {
            handingOver.remove(host);
        }
    }

    /** Whether the agent of a host runs and says that it serves all guests that are there. */
    boolean areServed(Cluster.Host host) {
        return served.entrySet().stream()
                .filter(each -> each.getValue().equals(host.id()))
                .map(Map.Entry::getKey)
                .toList()
                .stream()
                .allMatch(space -> isServed(host, space));
    }

    /** The guests that are served, and neither come nor go. */
    List<Guest> served() {
        return hosts.keySet().stream()
                .filter(guest -> served.containsKey(guest.space()))
                .toList();
    }

    /** The process that is the agent of a host. */
    Node agent(String host) {
        return cluster.host(host).process();
    }

    private boolean isServed(Cluster.Host host, String space) {
        return operator.state(host.id(), space).equals("attached") && host.runs();
    }

    Operator operator() {
        return operator;
    }

    /** A guest that ran for a while. */
    void gone(Guest guest) {
        hosts.remove(guest);
        encrypted.remove(guest);
        goneOperations += guest.operations();
        goneCompared += guest.compared();
    }

    /** Deletes a space that no node uses, or is about to use. */
    void delete(String space) {
        await(space + " is deleted", 60, () -> {
            try {
                operator.client().deleteSpace(space);
                return true;
            } catch (CoordinatorException e) {
                return e.getMessage().contains("404");
            }
        });
        verdicts.deleted();
    }

    void stop(Guest guest) {
        guest.stop();
        awaitAfterFaults("the threads of " + guest.space() + " stop", 30, guest::hasStopped);
    }

    void compare(Guest guest) {
        boolean[] done = new boolean[1];
        guest.process().start("compare", () -> {
            guest.compareAll();
            done[0] = true;
        });
        awaitAfterFaults("all pages of " + guest.space() + " are read", 60, () -> done[0]);
        note("all pages of " + guest.space() + " are as they were stored, " + guest.resident() + " resident");
    }

    /** The VMM ends, its pages go to their homes, and a host, perhaps the same, has the space afterwards. */
    void move(Guest guest, String to) throws Exception {
        leave(guest, to);
        enter(guest, to);
    }

    /**
     * The mark of the tags that a detachment leaves is lost with the store if homes have not read it yet. The operator
     * knows that the file is the latest one.
     */
    private String withForce(Guest guest, String fields, String answer) {
        boolean isOfLostMark = variant.has(Variant.REBUILD) && answer.contains("has the tags of another attachment");
        // The agent was killed before a guest of it could write.
        boolean isUnused = coming.containsKey(guest) && answer.contains("torn");
        return isOfLostMark || isUnused ? fields + ",\"force\":true" : fields;
    }

    /** A host begins to use the space that a guest has left. */
    void enter(Guest guest, String on) throws Exception {
        String snapshot = entering.remove(guest);
        String cloneOf = snapshot == null ? "" : ",\"cloneOf\":\"" + snapshot + "\"";
        attach(guest, on, "\"localBytes\":%d%s".formatted(localBytes(guest), cloneOf));
        compare(guest);
    }

    /** The VMM ends, its pages are written to their homes, and its host detaches from the space. */
    void leave(Guest guest, String to) throws IOException {
        String from = guest.host();
        hosts.put(guest, new TreeSet<>(List.of(from, to)));
        served.remove(guest.space());
        guest.end();
        leaving.put(guest, from);
        awaitAfterFaults(
                "the pages of " + guest.space() + " are at their homes",
                60,
                () -> operator.hasLeft(from, guest.space()));
        awaitAfterFaults(guest.space() + " is removed from " + from, 60, () -> operator.delete(from, guest.space()));
        leaving.remove(guest);
        if (encrypted.contains(guest) && !from.equals(to)) {
            carryTags(guest, from, to);
        }
    }

    /** The next host of an encrypted space needs the tags of its pages, which the last one has written. */
    private void carryTags(Guest guest, String from, String to) throws IOException {
        long[] id = new long[1];
        await("the id of space " + guest.space() + " is known", 60, () -> {
            id[0] = operator.id(guest.space());
            return id[0] > 0;
        });
        String file = "space-%d.seal".formatted(id[0]);
        Files.move(
                cluster.seals(from).resolve(file),
                cluster.seals(to).resolve(file),
                StandardCopyOption.REPLACE_EXISTING);
    }

    /**
     * A guest's host dies, or its agent stands still while the guest runs; another host takes the space over.
     *
     * @return whether that was possible: everything else is well, and no page is lost with that host
     */
    boolean takeOver(Guest guest) throws Exception {
        Cluster.Host from = cluster.host(guest.host());
        Cluster.Host to = cluster.host(anyHost());
        boolean isAlone = hosts.entrySet().stream()
                .noneMatch(each -> each.getKey() != guest && each.getValue().contains(from.id()));
        if (from == to || faults.isFailing() || !isAlone || !operator.isSpare(from) || faults.isFailing()) {
            return false;
        }
        hosts.put(guest, new TreeSet<>(List.of(from.id(), to.id())));
        reserved.add(from.id());
        verdicts.excuse(from.id(), 60 * SECOND);
        verdicts.excuseDropsBy(from.id(), 60 * SECOND);
        boolean dies = engine.oneIn(2);
        Runnable keepsDown = () -> {};
        if (dies) {
            if (!operator.kill(from)) {
                reserved.remove(from.id());
                return false;
            }
            guest.process().kill();
        } else {
            // Longer than a request may take: until it is cut off, it is the writer.
            keepsDown = () -> from.process().standStill(60 * SECOND);
        }
        faults.failed();
        served.remove(guest.space());
        engine.trail().count("space taken over");
        note("%s %s under guest %s, which %s takes over"
                .formatted(from.id(), dies ? "dies" : "stands still", guest.space(), to.id()));
        keepsDown.run();
        // The tags of an encrypted space are gone with its host.
        boolean isReset = encrypted.contains(guest);
        GuestKernel left = isReset ? guest.abandonPages() : guest.abandon();
        attach(
                guest,
                to.id(),
                "\"localBytes\":%d,\"force\":true,\"takeover\":true,\"reset\":%s".formatted(localBytes(guest), isReset),
                keepsDown);
        hosts.put(guest, new TreeSet<>(List.of(from.id(), to.id())));
        if (!dies) {
            from.process().goOnIn(engine.between(0, 2 * SECOND));
        }
        compare(guest);
        if (dies) {
            cluster.start(from);
        } else {
            engine.pause(engine.between(0, 3 * SECOND));
            left.end();
            await(guest.space() + " is removed from " + from.id(), 60, () -> operator.delete(from.id(), guest.space()));
        }
        hosts.put(guest, Set.of(to.id()));
        reserved.remove(from.id());
        faults.mended();
        return true;
    }

    /** The space of a guest that runs is deleted by force. */
    void deleteUnder(Guest guest) {
        engine.trail().count("space deleted under its guest");
        note("space %s is deleted under its guest".formatted(guest.space()));
        guest.mayLose(_ -> true);
        if (variant.has(Variant.KEEPER)) {
            Cluster.Host host = cluster.host(guest.host());
            await(
                    guest.space() + " is served",
                    60,
                    () -> isServed(host, guest.space()) && !handingOver.contains(host.id()));
        }
        reserved.add(guest.host());
        served.remove(guest.space());
        await("the deletion of " + guest.space() + " begins", 60, () -> operator.deleteByForce(guest.space()));
        engine.pause(engine.between(0, SECOND));
        // Without a home no page can be evicted, so a page would wait for good where the host has no memory.
        guest.giveMemory();
        stop(guest);
        guest.end();
        leaving.put(guest, guest.host());
        await(
                guest.space() + " is removed from " + guest.host(),
                60,
                () -> operator.delete(guest.host(), guest.space()));
        leaving.remove(guest);
        reserved.remove(guest.host());
    }

    void attach(Guest guest, String on, String fields) throws Exception {
        attach(guest, on, fields, () -> {});
    }

    /** @param meanwhile done again and again until the host accepts */
    private void attach(Guest guest, String on, String fields, Runnable meanwhile) throws Exception {
        hosts.put(guest, Set.of(on));
        if (variant.has(Variant.KEEPER) && !fields.contains("takeover")) {
            coming.put(guest, on);
        }
        do {
            request(guest, on, fields, meanwhile);
        } while (!handOver(guest, on));
        served.put(guest.space(), on);
        coming.remove(guest);
    }

    /** Has a host begin to use the space of a guest, and wait for its VMM. */
    private void request(Guest guest, String on, String fields, Runnable meanwhile) throws Exception {
        String space = guest.space();
        long end = engine.now() + 60 * SECOND;
        String answer = "";
        // After a lost answer the guest waits for its VMM already.
        while (!answer.startsWith("200") && !operator.state(on, space).equals("waiting")) {
            if (engine.now() >= end) {
                engine.fail("guest %s is not attached on %s within 60 s: %s".formatted(space, on, answer));
            }
            engine.pause(SECOND / 20);
            meanwhile.run();
            try {
                Node agent = cluster.host(on).process();
                answer = operator.put(on, space, withForce(guest, fields, answer));
                if (answer.startsWith("200") && cluster.host(on).process() == agent) {
                    awaited.put(guest, agent);
                }
            } catch (IOException e) {
                answer = e.toString();
            }
        }
        note("guest " + space + " is attached on " + on);
    }

    /**
     * Starts the VMM of a guest, and has it hand its memory over.
     *
     * @return false if the agent was killed before it took the memory: then the VMM has ended
     */
    private boolean handOver(Guest guest, String on) {
        String space = guest.space();
        boolean mayFail = coming.containsKey(guest);
        if (variant.has(Variant.STANDBY)) {
            // Its VMM takes a while to start, during which its host may not hand over.
            engine.pause(engine.between(0, 2 * SECOND));
        }
        Node vmm = engine.newNode("vmm of " + space, cluster.host(on).address());
        if (mayFail) {
            faults.beforeHandoff(on);
        }
        boolean isSent = guest.start(on, vmm, cluster.socket(space));
        awaited.remove(guest);
        if (!isSent && !mayFail) {
            engine.fail("no agent listens for the memory of " + space);
        }
        if (!mayFail) {
            return true;
        }
        if (isSent) {
            await("the memory of " + space + " is taken", 60, guest::isHandedOver);
        }
        if (!isSent || !guest.isTaken()) {
            engine.trail().count("agent killed before it took a guest");
            note("the memory of %s is not taken on %s, and its VMM ends".formatted(space, on));
            guest.end();
            return false;
        }
        await("guest " + space + " is served on " + on, 60, () -> isServed(cluster.host(on), space));
        return true;
    }

    /** As {@link #await}; the bound begins when no fault keeps the cluster from working any longer. */
    void awaitAfterFaults(String what, int bound, BooleanSupplier holds) {
        while (!holds.getAsBoolean() && !faults.areOver()) {
            engine.pause(SECOND / 20);
        }
        await(what, bound, holds);
    }

    /** As {@link #await}, but the bound counts from when no more faults come: one after another may undo it. */
    void awaitUnderFaults(String what, int bound, BooleanSupplier holds) {
        while (!holds.getAsBoolean() && !faults.areEnding()) {
            engine.pause(SECOND / 20);
        }
        await(what, bound, holds);
    }

    /** Waits, in virtual time, until something holds; a failure after the bound. */
    void await(String what, int bound, BooleanSupplier holds) {
        long end = engine.now() + bound * SECOND;
        while (!holds.getAsBoolean()) {
            if (engine.now() >= end) {
                engine.fail("not within " + bound + " s: " + what);
                engine.pause(SECOND);
            }
            engine.pause(SECOND / 20);
        }
    }
}
