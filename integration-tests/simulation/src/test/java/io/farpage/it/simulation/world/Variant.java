package io.farpage.it.simulation.world;

import io.farpage.it.simulation.engine.Engine;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;

/**
 * What differs in kind from seed to seed, so that each looks into another corner: which faults come, and how often; how
 * large and how busy guests are; how fast homes pull. Few kinds of faults at a time leave more members without an
 * excuse.
 *
 * @param faults the kinds that come, some several times, which makes them more frequent
 * @param pause nanoseconds between two faults, at most
 * @param repairRate bytes a second that a home pulls
 * @param nodes agents
 * @param churns guests that come and go at a time
 * @param threads of each guest
 * @param pace nanoseconds between two operations of a thread, at most; where it is long, a page that is wrong stays so
 * @param localPages that a guest may have resident beyond the least that is possible
 * @param features what the cluster has beyond the least that a cluster needs
 */
record Variant(
        List<String> faults,
        long pause,
        long repairRate,
        int nodes,
        int churns,
        int threads,
        long pace,
        int localPages,
        List<String> features) {
    static final List<String> KINDS = List.of(
            "still",
            "thread",
            "kill",
            "coordinator",
            "http",
            "cut",
            "late",
            "twice",
            "slow",
            "store",
            "clock",
            "drain",
            "takeover",
            "delete");

    /** Pools whose free frames are in pieces, so that a space has several extents. */
    static final String FRAGMENTS = "fragments";
    /** A coordinator that moves extents by itself, and two nodes in one failure domain. */
    static final String REBALANCE = "rebalance";

    /** Some spaces are encrypted. */
    static final String ENCRYPTED = "encrypted";

    /** The coordinator's store is lost now and then, and rebuilt from what the agents know. */
    static final String REBUILD = "rebuild";

    /** Pools and guests outlive an agent that is killed and started again. */
    static final String KEEPER = "keeper";

    /** Two coordinators share a store, and one of them leads; so it is not lost, and never rebuilt. */
    static final String PAIR = "pair";

    /** Some guests have pages of 2 MiB. */
    static final String LARGE = "large";

    /** Guests are parked and unparked, and some agents park those that are idle. */
    static final String PARK = "park";

    /** As {@link #KEEPER}, and a standby of each agent takes over from one that is killed or hands over. */
    static final String STANDBY = "standby";

    /** Some spaces are thin. */
    static final String THIN = "thin";

    /** Some guests that come and go leave a snapshot, and a clone of it comes. */
    static final String CLONES = "clones";

    /** Snapshots are made of some guests that come and go while they run. */
    static final String LIVE = "live";

    /** Some spaces are coherent. */
    static final String COHERENT = "coherent";

    private static final List<String> FEATURES = List.of(
            FRAGMENTS, REBALANCE, ENCRYPTED, REBUILD, KEEPER, PAIR, LARGE, STANDBY, PARK, THIN, CLONES, LIVE, COHERENT);
    /** What goes with a store that is never lost. */
    private static final List<String> WITHOUT_REBUILD = List.of(PAIR, CLONES, LIVE, COHERENT);

    private static final String NONE = "none";
    /** A seed draws each feature with a probability of one in this number. */
    private static final int FEATURE_ONE_IN = 3;
    /** Spreads seeds that are close to each other. */
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    /** Copies the lists. */
    Variant {
        faults = List.copyOf(faults);
        features = List.copyOf(features);
    }

    static Variant of(long seed, Engine engine, Map<String, String> options) {
        List<String> drawn = new ArrayList<>();
        int kinds = engine.oneIn(4) ? KINDS.size() : 1 + engine.random().nextInt(4);
        while (drawn.size() < kinds) {
            drawn.add(KINDS.get(engine.random().nextInt(KINDS.size())));
        }
        if (engine.oneIn(2)) {
            drawn.add("drain");
        }
        if (engine.oneIn(2)) {
            drawn.add("kill");
        }
        double pause = List.of(0.5, 1.0, 3.0, 6.0).get(engine.random().nextInt(4));
        int rate = List.of(100 << 20, 4 << 20, 1 << 20, 256 << 10)
                .get(engine.random().nextInt(4));
        int nodes = 4 + engine.random().nextInt(2);
        int churns = 1 + engine.random().nextInt(3);
        int threads = engine.oneIn(4) ? 16 : 2 + engine.random().nextInt(3);
        int pace = List.of(3, 30, 300).get(engine.random().nextInt(3));
        int local = List.of(0, 32, 96).get(engine.random().nextInt(3));
        return new Variant(
                options.containsKey("faults") ? List.of(options.get("faults").split(",")) : drawn,
                (long) (Double.parseDouble(options.getOrDefault("pause", Double.toString(pause))) * 1e9),
                Long.parseLong(options.getOrDefault("repair-rate", Integer.toString(rate))),
                Integer.parseInt(options.getOrDefault("nodes", Integer.toString(nodes))),
                Integer.parseInt(options.getOrDefault("churns", Integer.toString(churns))),
                Integer.parseInt(options.getOrDefault("threads", Integer.toString(threads))),
                (long) (Double.parseDouble(options.getOrDefault("pace", Integer.toString(pace))) * 1e6),
                Integer.parseInt(options.getOrDefault("local-pages", Integer.toString(local))),
                options.containsKey("features") ? named(options.get("features")) : features(seed));
    }

    /** Drawn apart from everything else: a seed without features is what it is whatever features there are. */
    private static List<String> features(long seed) {
        Random apart = new Random(seed * SPREAD);
        List<String> drawn = FEATURES.stream()
                .filter(_ -> apart.nextInt(FEATURE_ONE_IN) == 0)
                .toList();
        return withKeeper(drawn.stream()
                .filter(each -> !WITHOUT_REBUILD.contains(each) || !drawn.contains(REBUILD))
                .toList());
    }

    /** A standby waits at a keeper. */
    private static List<String> withKeeper(List<String> features) {
        return features.contains(STANDBY) && !features.contains(KEEPER)
                ? Stream.concat(features.stream(), Stream.of(KEEPER)).toList()
                : features;
    }

    private static List<String> named(String features) {
        List<String> all = Stream.of(features.split(","))
                .filter(each -> !each.equals(NONE))
                .toList();
        if (!FEATURES.containsAll(all)) {
            throw new IllegalArgumentException("--features: %s are not all of %s".formatted(all, FEATURES));
        }
        if (all.containsAll(List.of(PAIR, REBUILD))) {
            throw new IllegalArgumentException("--features: %s and %s exclude each other".formatted(PAIR, REBUILD));
        }
        if (all.containsAll(List.of(COHERENT, REBUILD))) {
            throw new IllegalArgumentException("--features: %s and %s exclude each other".formatted(COHERENT, REBUILD));
        }
        return withKeeper(all);
    }

    boolean has(String feature) {
        return features.contains(feature);
    }

    /** Whether spaces are taken over from hosts that die or stand still. */
    boolean hasTakeovers() {
        return faults.contains("takeover");
    }

    /** Whether spaces are deleted under guests. */
    boolean hasDeletions() {
        return faults.contains("delete");
    }

    /** The faults that come by themselves, whatever the guests do. */
    List<String> spontaneous() {
        return Stream.concat(
                        faults.stream()
                                .filter(kind ->
                                        !List.of(NONE, "takeover", "delete").contains(kind)),
                        features.stream().filter(List.of(REBUILD, KEEPER, STANDBY)::contains))
                .toList();
    }

    /** As options of the command line, which make any seed one of this kind. */
    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "--faults %s --pause %.1f --repair-rate %d --nodes %d --churns %d --threads %d --pace %.0f"
                        + " --local-pages %d --features %s",
                String.join(",", faults),
                pause / 1e9,
                repairRate,
                nodes,
                churns,
                threads,
                pace / 1e6,
                localPages,
                features.isEmpty() ? NONE : String.join(",", features));
    }
}
