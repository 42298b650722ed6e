package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.model.SimulatedNetwork.Transfer;
import io.farpage.agent.data.pager.model.Step.Kind;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Rail;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardNotice;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/** The homes on other nodes, up to three, and what is under way to all of them, in the order of the homes. */
final class Fabric {
    private final List<SimulatedHome> homes = new ArrayList<>();
    private boolean isMirrored;
    /** Whether homes may join. */
    private boolean joins;
    /** The agent has asked to promote the home that joins. */
    private boolean isCopied;

    Fabric(Setup setup) {
        if (setup.isMirrored()) {
            isMirrored = true;
            for (int number = 0; number < setup.homes(); number++) {
                homes.add(new SimulatedHome(number, 0, setup.remotePages(), setup));
            }
            joins = setup.has(Feature.JOINING);
            if (joins) {
                homes.getLast().stayAway();
            }
            return;
        }
        int second = setup.secondHomeFrom();
        homes.add(new SimulatedHome(0, 0, second, setup));
        if (setup.has(Feature.TWO_HOMES)) {
            homes.add(new SimulatedHome(1, second, setup.remotePages(), setup));
        }
    }

    List<SimulatedHome> homes() {
        return homes;
    }

    List<Rail> rails() {
        return homes.stream().map(home -> home.network().rail()).toList();
    }

    PeerLink link(String node) {
        return homes.stream()
                .map(SimulatedHome::link)
                .filter(link -> link.peer().equals(node))
                .findFirst()
                .orElseThrow();
    }

    boolean isHome(int number, Predicate<SimulatedHome> that) {
        return number < homes.size() && that.test(homes.get(number));
    }

    SimulatedHome home(int number) {
        return homes.get(number);
    }

    boolean isAny(Predicate<SimulatedHome> that) {
        return homes.stream().anyMatch(that);
    }

    boolean isEvery(Predicate<SimulatedHome> that) {
        return homes.stream().allMatch(that);
    }

    /**
     * Whether a page lives on another node for which the condition holds; of several homes, on all that are neither
     * dropped nor lost.
     */
    boolean isAtHomeThat(int page, Predicate<SimulatedHome> is) {
        // Without streams: the model asks for every page after every step.
        boolean anyLives = isAnyLiving(page);
        boolean any = false;
        for (SimulatedHome home : homes) {
            if (isAsked(home, page, anyLives)) {
                if (!is.test(home)) {
                    return false;
                }
                any = true;
            }
        }
        return any;
    }

    private boolean isAnyLiving(int page) {
        for (SimulatedHome home : homes) {
            if (home.has(page) && home.isMember() && !home.isLost()) {
                return true;
            }
        }
        return false;
    }

    /** Whether a home can be asked for a page: one that is lost, if there is no other. */
    private static boolean isAsked(SimulatedHome home, int page, boolean anyLives) {
        return home.has(page) && home.isMember() && !(anyLives && home.isLost());
    }

    /** What the homes of a page on another node have. */
    long[] contents(int page) {
        boolean anyLives = isAnyLiving(page);
        long[] contents = new long[homes.size()];
        int count = 0;
        for (SimulatedHome home : homes) {
            if (isAsked(home, page, anyLives)) {
                contents[count++] = home.network().home(page);
            }
        }
        return count == contents.length ? contents : Arrays.copyOf(contents, count);
    }

    /** Whether some pages have no home that is not lost. */
    boolean isAnyPageLost() {
        return isMirrored ? isEvery(home -> home.isLost() || !home.isMember()) : isAny(SimulatedHome::isLost);
    }

    /**
     * Whether the coordinator may drop a home: the agent has asked for it, and another one is left; or it has lost what
     * was copied to it.
     */
    boolean canDrop(int number) {
        if (isHome(number, home -> home.isJoining() && (home.isSuspected() || home.isLost()))) {
            return true;
        }
        return isHome(number, home -> home.isSuspected() && home.isMember())
                && isAny(other -> other != homes.get(number) && other.isMember() && !other.isLost());
    }

    /**
     * Whether the coordinator may drop a home whose lease has run out, while no process has the attachment: another one
     * is left.
     */
    boolean canDropForHeir(int number) {
        return isHome(number, SimulatedHome::isMember)
                && isAny(other -> other != homes.get(number) && other.isMember() && !other.isLost());
    }

    /**
     * The process that had the attachment is cut off: what it has asked for is refused from now on, no home joins, and
     * dropped homes reuse the frames.
     */
    void cutOff() {
        isCopied = false;
        homes.forEach(SimulatedHome::forgetSuspicion);
        homes.stream().filter(home -> home.isDropped() || home.isJoining()).forEach(SimulatedHome::reuse);
    }

    /** Whether the coordinator may have a home join: none does, and not all homes are lost. */
    boolean canJoin(int number) {
        return joins && isHome(number, SimulatedHome::canJoin) && !isAny(SimulatedHome::isJoining) && !isAnyPageLost();
    }

    /**
     * Whether the coordinator promotes a home that joins: the agent has asked for it, and not all homes are lost, for
     * which the coordinator refuses.
     */
    boolean canPromote(int number) {
        return isCopied && !isAnyPageLost() && isHome(number, SimulatedHome::isJoining);
    }

    void copied(boolean isCopiedNow) {
        isCopied = isCopiedNow;
    }

    /** The agent notes what it writes, so the home that joins may copy pages. */
    void noted(boolean isNotedNow) {
        homes.forEach(home -> home.pull().noted(isNotedNow));
    }

    boolean canBeginPull(int number) {
        return isHome(number, home -> home.isJoining() && home.pull().canBegin());
    }

    /** Whether the home that joins can copy a page from another one. */
    boolean canPull(int source) {
        return isHome(source, home -> home.isMember() && !home.isLost())
                && isAny(home ->
                        home.isJoining() && !home.isLost() && home.pull().canCopy());
    }

    void pull(int source) {
        SimulatedHome to =
                homes.stream().filter(SimulatedHome::isJoining).findFirst().orElseThrow();
        to.pull().copy(homes.get(source).network(), to.network());
    }

    boolean canEndPull(int number) {
        return isHome(
                number,
                home -> home.isJoining() && !home.isLost() && home.pull().canEnd());
    }

    /** How far the home that joins has come with copying. */
    SpaceMap.Pull pulled() {
        return homes.stream()
                .filter(SimulatedHome::isJoining)
                .map(home -> home.pull().state())
                .findFirst()
                .orElse(SpaceMap.Pull.NONE);
    }

    /** A home is started anew with empty memory. The last home of the pages stays, as one that has lost them. */
    void lose(int number) {
        SimulatedHome lost = homes.get(number);
        lost.lose();
        if (isMirrored && !(lost.isMember() && isAnyPageLost())) {
            lost.leave();
        }
    }

    /** Names of the homes that the pages live on. */
    List<String> members() {
        return names(SimulatedHome::isMember);
    }

    /** Name of the home that joins, if there is one. */
    Optional<String> joining() {
        return names(SimulatedHome::isJoining).stream().findFirst();
    }

    private List<String> names(Predicate<SimulatedHome> that) {
        return homes.stream().filter(that).map(home -> home.link().peer()).toList();
    }

    /** Sets what the home of a page on another node has. */
    void content(int page, long version) {
        homes.stream()
                .filter(home -> home.has(page) && home.isMember())
                .forEach(home -> home.network().home(page, version));
    }

    /** The home of a page of a clone copies it from the snapshot. */
    void fill(int page) {
        homes.stream()
                .filter(home -> home.has(page))
                .forEach(home -> home.network().fill(page));
    }

    /** Sets the version that the snapshot of a clone has. */
    void snapshot(int page, long version) {
        homes.stream()
                .filter(home -> home.has(page))
                .forEach(home -> home.network().snapshot(page, version));
    }

    /** The version that the snapshot of a clone has. */
    long snapshot(int page) {
        return homes.stream()
                .filter(home -> home.has(page))
                .mapToLong(home -> home.network().snapshot(page))
                .findFirst()
                .orElseThrow();
    }

    /** The home of a page on another node gives its frame away. */
    void revoke(int page) {
        homes.stream()
                .filter(home -> home.has(page))
                .forEach(home -> home.network().revoke(page));
    }

    private SimulatedHome firstMember() {
        return homes.stream().filter(SimulatedHome::isMember).findFirst().orElseThrow();
    }

    List<Transfer> underWay() {
        List<Transfer> all = new ArrayList<>();
        homes.forEach(home -> all.addAll(home.underWay()));
        return all;
    }

    void land(Transfer transfer, int index) {
        homes.stream()
                .filter(home -> home.underWay().contains(transfer))
                .findFirst()
                .orElseThrow()
                .network()
                .land(transfer, index);
    }

    int late() {
        return homes.stream().mapToInt(home -> home.network().late()).sum();
    }

    void landLate(int number) {
        int left = number;
        for (SimulatedHome home : homes) {
            if (left < home.network().late()) {
                home.network().landLate(left);
                return;
            }
            left -= home.network().late();
        }
    }

    /** Completes all that can be. */
    void completeAll() {
        for (SimulatedHome home : homes) {
            while (!home.underWay().isEmpty()) {
                home.network().complete();
            }
        }
    }

    void released(ShardNotice.Released notice, Shard shard) {
        for (SimulatedHome home : homes) {
            if (home.link().equals(notice.link())) {
                home.released(notice, shard);
            }
        }
    }

    boolean isIdle() {
        return isEvery(SimulatedHome::isIdle);
    }

    /** Adds the steps of transfers that are not failures. */
    void addSteps(List<Step> to) {
        int number = 0;
        for (Transfer transfer : underWay()) {
            int left = transfer.firstLeft();
            if (left >= 0) {
                to.add(new Step(Kind.LAND, number, left));
            }
            number++;
        }
        for (int home = 0; home < homes.size(); home++) {
            if (canDrop(home)) {
                to.add(Step.of(Kind.DROP, home));
            }
            if (canJoin(home)) {
                to.add(Step.of(Kind.JOIN, home));
            }
            if (canBeginPull(home)) {
                to.add(Step.of(Kind.PULL_BEGIN, home));
            }
            if (canPull(home)) {
                to.add(Step.of(Kind.PULL, home));
            }
            if (canEndPull(home)) {
                to.add(Step.of(Kind.PULL_END, home));
            }
            if (canPromote(home)) {
                to.add(Step.of(Kind.PROMOTE, home));
                to.add(new Step(Kind.PROMOTE, home, 1 + homes.indexOf(firstMember())));
            }
            if (!homes.get(home).underWay().isEmpty()) {
                to.add(Step.of(Kind.COMPLETE, home));
            }
        }
    }

    /** Adds the steps that make links for the successor of an agent that was killed. */
    void addLinks(List<Step> to) {
        for (int home = 0; home < homes.size(); home++) {
            if (homes.get(home).canConnect()) {
                to.add(Step.of(Kind.CONNECT, home));
            }
        }
    }

    /** The state of the network, without the numbers of the transfers. */
    String shape() {
        StringBuilder shape = new StringBuilder();
        for (SimulatedHome home : homes) {
            shape.append(home.network().shape())
                    .append(home.isSilent() ? "silent" : "")
                    .append(home.isLost() ? "lost" : "")
                    .append(home.isSuspected() ? "suspected" : "")
                    .append(home.isDropped() ? "dropped" : "")
                    .append(home.isJoining() ? "joining" + home.pull().shape() : "");
        }
        return shape.toString();
    }
}
