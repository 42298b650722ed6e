package io.farpage.agent.data.pager.model;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Collectors;

/**
 * The size of a world, and its features.
 *
 * @param pages of the guest
 * @param localPages of them at the end, whose home is the agent's own node
 * @param threads of the guest
 * @param limit pages that may be resident
 * @param prefetch pages that one fault fetches at most
 * @param slots transfers under way at once
 * @param frames of staging memory, pages
 * @param features what is special
 */
record Setup(
        int pages, int localPages, int threads, int limit, int prefetch, int slots, int frames, Set<Feature> features) {
    /** With nothing special. */
    Setup(int pages, int localPages, int threads, int limit, int prefetch, int slots, int frames) {
        this(pages, localPages, threads, limit, prefetch, slots, frames, Set.of());
    }

    /** The same with features. */
    Setup with(Feature... added) {
        EnumSet<Feature> all = EnumSet.noneOf(Feature.class);
        all.addAll(features);
        all.addAll(List.of(added));
        return new Setup(pages, localPages, threads, limit, prefetch, slots, frames, all);
    }

    boolean has(Feature feature) {
        return features.contains(feature);
    }

    /** Whether pages on other nodes get room when the agent asks for it. */
    boolean isThin() {
        return has(Feature.THIN) || has(Feature.CLONE);
    }

    /** Bytes of a page. */
    int pageBytes() {
        return has(Feature.LARGE_PAGES) ? Memory.LARGE_PAGE : Memory.PAGE;
    }

    /** Pages that live on other nodes; they are the first ones. */
    int remotePages() {
        return pages - localPages;
    }

    /** Homes on other nodes. */
    int homes() {
        return has(Feature.JOINING) ? 3 : has(Feature.TWO_HOMES) || has(Feature.MIRRORED) ? 2 : 1;
    }

    /** Whether the pages on other nodes have several homes each. */
    boolean isMirrored() {
        return has(Feature.MIRRORED) || has(Feature.JOINING);
    }

    /**
     * The first page of the second home on another node; all remote pages are the first home's if there is only one.
     */
    int secondHomeFrom() {
        return has(Feature.TWO_HOMES) ? remotePages() / 2 : remotePages();
    }

    /** A setup that finds faults in few steps, as often with features as without. */
    static Setup random(SplittableRandom random) {
        EnumSet<Feature> features = EnumSet.noneOf(Feature.class);
        if (random.nextBoolean()) {
            oneIn(2, Feature.TWO_HOMES, random, features);
            if (!features.contains(Feature.TWO_HOMES)) {
                oneIn(3, Feature.MIRRORED, random, features);
                oneIn(3, Feature.JOINING, random, features);
            }
            oneIn(3, Feature.PRIVATE, random, features);
            oneIn(3, Feature.LARGE_PAGES, random, features);
            oneIn(6, Feature.NO_POISON, random, features);
            if (!features.contains(Feature.PRIVATE) && SimulatedSeal.isAvailable()) {
                oneIn(3, Feature.SEALED, random, features);
            }
            if (!features.contains(Feature.PRIVATE) && !features.contains(Feature.SEALED)) {
                oneIn(2, Feature.KEPT, random, features);
            }
            oneIn(2, Feature.PRESENCE, random, features);
            if (!features.contains(Feature.MIRRORED)
                    && !features.contains(Feature.JOINING)
                    && !features.contains(Feature.PRIVATE)
                    && !features.contains(Feature.SEALED)) {
                oneIn(4, random.nextBoolean() ? Feature.THIN : Feature.CLONE, random, features);
            }
            if (!features.contains(Feature.PRIVATE) && !features.contains(Feature.SEALED)) {
                oneIn(4, Feature.SNAPSHOT, random, features);
            }
            oneIn(4, Feature.NARROW, random, features);
            if (!features.contains(Feature.PRIVATE) && !features.contains(Feature.LARGE_PAGES)) {
                oneIn(3, Feature.VICTIMS, random, features);
            }
        }
        return random(random, features);
    }

    /** As {@link #random(SplittableRandom)}, with these features. */
    static Setup random(SplittableRandom random, Set<Feature> features) {
        boolean joins = features.contains(Feature.JOINING);
        boolean two = joins || features.contains(Feature.TWO_HOMES) || features.contains(Feature.MIRRORED);
        if (random.nextInt(two ? 2 : 6) == 0) {
            return roomy(random, features);
        }
        int pages = random.nextInt(two ? 4 : 2, 9);
        return new Setup(
                pages,
                random.nextInt(4) == 0 ? 1 : 0,
                random.nextInt(1, 4),
                random.nextInt(1, pages + 1),
                random.nextBoolean() ? 1 : 4,
                random.nextInt(joins ? 3 : two ? 2 : 1, 6),
                random.nextInt(two ? 4 : 2, World.MAX_FRAMES + 1),
                features);
    }

    /**
     * A limit at which pages stay some time and the agent shares frames among homes, and threads enough to exceed it.
     */
    private static Setup roomy(SplittableRandom random, Set<Feature> features) {
        int pages = random.nextInt(24, 41);
        return new Setup(
                pages,
                0,
                random.nextInt(4, 9),
                random.nextInt(18, pages),
                random.nextBoolean() ? 1 : 4,
                random.nextInt(features.contains(Feature.JOINING) ? 3 : 2, 6),
                World.MAX_FRAMES,
                features);
    }

    private static void oneIn(int times, Feature feature, SplittableRandom random, Set<Feature> to) {
        if (random.nextInt(times) == 0) {
            to.add(feature);
        }
    }

    /** As it is written in a test. */
    @Override
    public String toString() {
        String size = "new Setup(%d, %d, %d, %d, %d, %d, %d)"
                .formatted(pages, localPages, threads, limit, prefetch, slots, frames);
        String names = features.stream()
                .sorted()
                .map(feature -> "Feature." + feature.name())
                .collect(Collectors.joining(", "));
        return names.isEmpty() ? size : size + ".with(" + names + ")";
    }
}
