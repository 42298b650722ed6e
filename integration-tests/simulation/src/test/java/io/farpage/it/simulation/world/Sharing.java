package io.farpage.it.simulation.world;

import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.Node;
import io.farpage.it.simulation.guest.MemberVmm;
import io.farpage.it.simulation.guest.SharedPages;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;

/** Coherent spaces, one after the other, whose members come, go and fail. */
final class Sharing {
    private static final long SECOND = 1_000_000_000L;
    private static final int MOST_MEMBERS = 3;
    private static final int PAGE = 4096;
    /** The pages that an agent lets a member have at least. */
    private static final int LEAST_LOCAL = 64;
    /** How much faster the threads of members are than those of guests: they contend for pages. */
    private static final int FASTER = 10;

    private final Scenario scenario;
    private final Cluster cluster;
    private final Faults faults;
    private final Operator operator;
    private final Verdicts verdicts;
    private final Engine engine = Engine.get();
    private final String name;
    /** By host; those that were cut off, too, until their processes have ended. */
    private final Map<String, MemberVmm> members = new LinkedHashMap<>();
    /** By host, the agents that have, or may have, an attachment. */
    private final Map<String, Node> claims = new HashMap<>();

    private SharedPages pages = new SharedPages("", 0);
    private List<Cluster.Host> homes = List.of();
    /** Homes of each page. */
    private int replicas = 1;
    /** The homes whose pools are gone. */
    private final Set<String> gone = new HashSet<>();

    private boolean isTorn;
    /** Whether pages have no home. */
    private boolean isLost;

    private long operations;
    private long compared;
    private boolean stopping;
    private boolean ended;

    Sharing(Scenario scenario, Cluster cluster, Faults faults, Operator operator, String name) {
        this.scenario = scenario;
        this.cluster = cluster;
        this.faults = faults;
        this.operator = operator;
        this.name = name;
        verdicts = scenario.verdicts();
    }

    void stop() {
        stopping = true;
    }

    boolean hasEnded() {
        return ended;
    }

    long operations() {
        return operations;
    }

    long compared() {
        return compared;
    }

    /** Whether the agent of a host is a member, or about to be, or may be. */
    boolean isUsedBy(String host) {
        return claims.containsKey(host) || members.containsKey(host);
    }

    /** An agent hands over, which ends the guest of a member. */
    void handedOver(String host) {
        MemberVmm vmm = members.get(host);
        if (vmm != null && vmm.isRunning()) {
            engine.fail("the agent of %s hands over, and has %s of %s".formatted(host, vmm, space()));
        }
    }

    void run() {
        try {
            for (int i = 1; !stopping; i++) {
                live("%s%d".formatted(name, i));
                operations += pages.operations();
                compared += pages.compared();
            }
            ended = true;
        } catch (RuntimeException e) {
            e.printStackTrace();
            engine.fail("a coherent space: " + e);
        }
    }

    private String space() {
        return pages.space();
    }

    private void note(String what) {
        engine.trail().note(engine.elapsed(), "coherent space %s: %s".formatted(space(), what));
    }

    private <T> T any(List<T> of) {
        return of.get(engine.random().nextInt(of.size()));
    }

    private void live(String space) {
        int count = 96 + 32 * engine.random().nextInt(4);
        pages = new SharedPages(space, count);
        isTorn = false;
        isLost = false;
        gone.clear();
        homes = List.of(any(cluster.hosts()), any(cluster.hosts())).stream()
                .distinct()
                .toList();
        replicas = homes.size() > 1 && engine.oneIn(2) ? 2 : 1;
        // Room at a home that has ended, which the coordinator does not know yet, is lost at once.
        scenario.awaitUnderFaults(
                "the homes of coherent space " + space + " are registered",
                60,
                () -> homes.stream().allMatch(operator::isRegistered));
        homes.forEach(this::watchHome);
        scenario.awaitUnderFaults(
                "coherent space " + space + " is made",
                60,
                () -> operator.makeCoherent(
                        space,
                        (long) count * PAGE,
                        homes.stream().map(Cluster.Host::id).toList(),
                        replicas));
        note("%d pages at %s, at %d each"
                .formatted(count, homes.stream().map(Cluster.Host::id).toList(), replicas));
        for (int i = 1 + engine.random().nextInt(MOST_MEMBERS); i >= 0 && !stopping; i--) {
            unused().ifPresent(this::join);
        }
        while (!stopping && !isLost && !engine.oneIn(8)) {
            engine.pause(engine.between(SECOND / 10, 3 * SECOND));
            change();
            reap();
        }
        scenario.awaitAfterFaults(
                "every thread of the members of " + space + " goes on",
                30,
                () -> members.values().stream().allMatch(each -> each.longestWait() < SECOND + 16 * pace()));
        for (String host : List.copyOf(members.keySet())) {
            compare(host);
        }
        while (!members.isEmpty()) {
            leave(members.keySet().iterator().next());
        }
        verdicts.deleting();
        scenario.delete(space);
    }

    private long pace() {
        return scenario.variant().pace() / FASTER;
    }

    private void change() {
        switch (engine.random().nextInt(8)) {
            case 0 -> unused().ifPresent(this::join);
            case 1, 2 -> one(_ -> members.size() > 1).ifPresent(this::leave);
            case 3 ->
                one(_ -> true).ifPresent(host -> {
                    leave(host);
                    join(engine.oneIn(2) ? host : unused().orElse(host));
                });
            case 4, 5 -> {
                if (scenario.variant().faults().contains("kill")) {
                    fail();
                }
            }
            default -> {
                if (scenario.variant().hasTakeovers()) {
                    one(this::isFree).ifPresent(engine.oneIn(2) ? this::hostDies : this::standsStill);
                }
            }
        }
    }

    private void fail() {
        if (engine.oneIn(4)) {
            loseHome(any(homes));
        } else {
            one(this::isFree).ifPresent(this::killAgent);
        }
    }

    /** A host for another member; empty if there are enough. */
    private Optional<String> unused() {
        List<String> free = cluster.hosts().stream()
                .map(Cluster.Host::id)
                .filter(host -> !members.containsKey(host))
                .toList();
        return members.size() >= MOST_MEMBERS || free.isEmpty() ? Optional.empty() : Optional.of(any(free));
    }

    private Optional<String> one(Predicate<String> which) {
        List<String> some = members.keySet().stream().filter(which).toList();
        return some.isEmpty() ? Optional.empty() : Optional.of(any(some));
    }

    // ---- members come and go

    private void watchHome(Cluster.Host home) {
        Optional<Node> keeper = home.keeper();
        SharedPages of = pages;
        home.process().onDeath(() -> {
            if (of == pages) {
                // Whether the keeper ends, too, is known only later.
                if (keeper.isPresent()) {
                    of.homeEnded(true);
                } else {
                    poolIsGone(home.id());
                }
            }
        });
    }

    private void poolIsGone(String home) {
        gone.add(home);
        isLost |= gone.size() >= replicas;
        pages.homeEnded(!isLost);
        engine.trail().count(isLost ? "home of shared pages lost" : "one of two homes of shared pages lost");
    }

    private Path socket(String host) {
        return cluster.socket(space() + "-" + host);
    }

    private void join(String on) {
        join(on, "");
    }

    private void join(String on, String fields) {
        while (!request(on, fields) || !handOver(on)) {
            if (isLost) {
                return;
            }
        }
    }

    /** Requests a host's agent to become a member, and to wait for its VMM. */
    private boolean request(String on, String fields) {
        scenario.awaitUnderFaults("%s is a member of %s".formatted(on, space()), 60, () -> isAccepted(on, fields));
        note("%s is attached".formatted(on));
        return true;
    }

    private boolean isAccepted(String on, String fields) {
        // After a lost answer the agent waits for the VMM already.
        if (operator.state(on, space()).equals("waiting")) {
            return true;
        }
        claim(on);
        String local =
                ",\"localBytes\":%d".formatted((LEAST_LOCAL + scenario.variant().localPages() / 8) * PAGE);
        String answer = operator.put(on, space(), socket(on), local + fields);
        if (answer.contains("space-torn")) {
            if (!isTorn) {
                engine.fail("space %s is torn, and no member of it has failed: %s".formatted(space(), answer));
            }
            answer = operator.put(on, space(), socket(on), local + fields + ",\"force\":true");
        }
        return answer.startsWith("200");
    }

    /** If the agent of a host ends now, the space is torn. */
    private void claim(String on) {
        Node agent = cluster.host(on).process();
        if (claims.put(on, agent) != agent) {
            SharedPages of = pages;
            agent.onDeath(() -> {
                if (of == pages && claims.remove(on, agent)) {
                    isTorn = true;
                }
            });
        }
    }

    /**
     * Starts the VMM of a member, and has it hand its memory over.
     *
     * @return false if the agent ended before it took the memory
     */
    private boolean handOver(String on) {
        Node agent = cluster.host(on).process();
        Node process = engine.newNode(
                "vmm of " + space() + " on " + on, cluster.host(on).address());
        MemberVmm vmm =
                new MemberVmm(pages, on, process, Math.min(4, scenario.variant().threads()), pace());
        boolean isSent = vmm.start(socket(on));
        if (isSent) {
            scenario.await("the memory of " + vmm + " is taken", 60, vmm::isHandedOver);
        }
        if (!isSent || !vmm.isTaken() || agent.isDead()) {
            engine.trail().count("agent killed before it took a member");
            vmm.end();
            return false;
        }
        boolean isKept = cluster.host(on).keeper().isPresent();
        agent.onDeath(() -> {
            vmm.cutOff();
            if (isKept) {
                // A successor would adopt the process, and what its threads stored would count again.
                vmm.end();
            }
        });
        vmm.run();
        members.put(on, vmm);
        engine.trail().count("member joined");
        return true;
    }

    private void leave(String on) {
        MemberVmm vmm = members.get(on);
        vmm.stop();
        awaitUnlessCutOff(vmm, "the threads of " + vmm + " stop", vmm::hasStopped);
        if (engine.oneIn(2)) {
            awaitUnlessCutOff(
                    vmm,
                    "the agent of " + vmm + " answers",
                    () -> operator.state(on, space()).equals("attached"));
        }
        vmm.end();
        awaitUnlessCutOff(
                vmm,
                "the pages of " + vmm + " are at their homes",
                () -> operator.state(on, space()).equals("ended"));
        awaitUnlessCutOff(vmm, space() + " is removed from " + on, () -> operator.delete(on, space()));
        awaitUnlessCutOff(vmm, space() + " is detached from " + on, () -> operator.isDetached(space(), on));
        if (vmm.isCutOff()) {
            reap();
            return;
        }
        claims.remove(on);
        vmm.left();
        members.remove(on);
        engine.trail().count("member left");
        note("%s has left".formatted(on));
    }

    private void awaitUnlessCutOff(MemberVmm vmm, String what, BooleanSupplier holds) {
        scenario.awaitAfterFaults(what, 60, () -> vmm.isCutOff() || holds.getAsBoolean());
    }

    private void compare(String on) {
        MemberVmm vmm = members.get(on);
        if (vmm == null) {
            return;
        }
        boolean[] done = new boolean[1];
        vmm.process().start("compare", () -> {
            vmm.compareAll();
            done[0] = true;
        });
        awaitUnlessCutOff(vmm, "all pages of " + vmm + " are read", () -> done[0]);
    }

    /** Ends the processes of members that were cut off. */
    private void reap() {
        for (String host : List.copyOf(members.keySet())) {
            MemberVmm vmm = members.get(host);
            if (vmm.isCutOff()) {
                engine.trail().count("member cut off");
                note("%s is cut off".formatted(vmm));
                engine.pause(engine.between(0, 2 * SECOND));
                vmm.end();
                members.remove(host);
            }
        }
    }

    // ---- members fail

    /** Whether a host may fail: it has no guest, no last copy of a page, and nothing else fails. */
    private boolean isFree(String on) {
        Cluster.Host host = cluster.host(on);
        return host.runs()
                && !members.get(on).isCutOff()
                && !scenario.isInUse(on)
                && !faults.isFailing()
                && operator.isSpare(host)
                && !faults.isFailing()
                && !scenario.isInUse(on);
    }

    /** A home is killed, and its pool is gone. */
    private void loseHome(Cluster.Host home) {
        String id = home.id();
        if (!home.runs()
                || scenario.isInUse(id)
                || faults.isFailing()
                || !operator.isSpare(home, space())
                || faults.isFailing()
                || scenario.isInUse(id)) {
            return;
        }
        verdicts.excuse(id, 10 * SECOND);
        if (operator.kill(home)) {
            faults.failed();
            poolIsGone(id);
            note("the home %s is killed, its pool is gone".formatted(id));
            engine.pause(engine.between(SECOND / 20, 6 * SECOND));
            cluster.start(home);
            faults.mended();
            engine.pause(engine.between(0, 3 * SECOND));
        }
    }

    /** The agent of a member is killed with its keeper; the process of the member goes on for a while. */
    private void killAgent(String on) {
        Cluster.Host host = cluster.host(on);
        verdicts.excuse(on, 10 * SECOND);
        if (operator.kill(host)) {
            faults.failed();
            engine.trail().count("agent of a member killed");
            note("the agent of %s is killed".formatted(on));
            engine.pause(engine.between(SECOND / 20, 6 * SECOND));
            cluster.start(host);
            faults.mended();
        }
    }

    /** The host of a member dies. It is given up by the operator, or when another member joins. */
    private void hostDies(String on) {
        Cluster.Host host = cluster.host(on);
        MemberVmm vmm = members.get(on);
        verdicts.excuse(on, 60 * SECOND);
        if (!operator.kill(host)) {
            return;
        }
        faults.failed();
        scenario.reserve(on, true);
        vmm.process().kill();
        vmm.end();
        engine.trail().count("host of a member dies");
        note("%s dies".formatted(on));
        engine.pause(engine.between(0, 6 * SECOND));
        members.remove(on);
        Optional<String> other = unused().filter(each -> !each.equals(on));
        if (engine.oneIn(2) || other.isEmpty()) {
            scenario.awaitUnderFaults(on + " is given up", 60, () -> operator.giveUp(host));
            engine.trail().count("node given up");
        } else {
            takeOver(host, other.get());
        }
        engine.pause(engine.between(0, 2 * SECOND));
        scenario.reserve(on, false);
        cluster.start(host);
        faults.mended();
    }

    /** Another member joins, and the homes cut off the one whose node has failed. */
    private void takeOver(Cluster.Host from, String to) {
        scenario.awaitUnderFaults(
                "the lease of %s has run out".formatted(from.id()), 60, () -> operator.hasFailed(from));
        join(to, ",\"takeover\":true");
        scenario.awaitUnderFaults(
                from.id() + " is a member no longer", 60, () -> operator.isDetached(space(), from.id()));
        engine.trail().count("member taken over");
    }

    /** The agent of a member stands still for so long that another member joins without it. */
    private void standsStill(String on) {
        Optional<String> other = unused();
        if (other.isEmpty()) {
            return;
        }
        Cluster.Host host = cluster.host(on);
        MemberVmm vmm = members.get(on);
        verdicts.excuse(on, 60 * SECOND);
        verdicts.excuseDropsBy(on, 60 * SECOND);
        faults.failed();
        scenario.reserve(on, true);
        host.process().standStill(120 * SECOND);
        vmm.cutOff();
        isTorn = true;
        engine.trail().count("agent of a member stands still");
        note("%s stands still, and %s takes over".formatted(on, other.get()));
        takeOver(host, other.get());
        host.process().goOnIn(engine.between(0, 2 * SECOND));
        scenario.awaitUnderFaults("%s, which was cut off, has no page".formatted(vmm), 30, () -> !vmm.hasPages());
        engine.pause(engine.between(0, 3 * SECOND));
        claims.remove(on);
        vmm.end();
        members.remove(on);
        scenario.await(space() + " is removed from " + on, 60, () -> operator.delete(on, space()));
        scenario.reserve(on, false);
        faults.mended();
    }
}
