package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.model.SimulatedNetwork.Transfer;
import io.farpage.agent.data.pager.model.Step.Kind;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Rail;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardNotice;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** The homes on other nodes, one or two, and what is under way to all of them, in the order of the homes. */
final class Fabric {
    private final List<SimulatedHome> homes = new ArrayList<>();

    Fabric(Setup setup) {
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

    /** Whether a page lives on another node for which the condition holds. */
    boolean isAtHomeThat(int page, Predicate<SimulatedHome> is) {
        return isAny(home -> home.has(page) && is.test(home));
    }

    /** What the home of a page on another node has. */
    long content(int page) {
        return homes.stream()
                .filter(home -> home.has(page))
                .findFirst()
                .orElseThrow()
                .network()
                .home(page);
    }

    /** Sets what the home of a page on another node has. */
    void content(int page, long version) {
        homes.stream()
                .filter(home -> home.has(page))
                .forEach(home -> home.network().home(page, version));
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
            if (!homes.get(home).underWay().isEmpty()) {
                to.add(Step.of(Kind.COMPLETE, home));
            }
        }
    }

    /** The state of the network, without the numbers of the transfers. */
    String shape() {
        StringBuilder shape = new StringBuilder();
        for (SimulatedHome home : homes) {
            shape.append(home.network().shape())
                    .append(home.isSilent() ? "silent" : "")
                    .append(home.isLost() ? "lost" : "");
        }
        return shape.toString();
    }
}
