package io.farpage.agent.data.pager;

import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.PeerLink;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Where the pages of a guest's space live, and how the homes share the transfer slots of the pager. Each of several homes is guaranteed a share
 * of the slots; a home that does not answer gets no more than its share, so that it delays only its own pages. Lookups allocate nothing; a
 * new map does.
 */
final class Homes {
    private final Pager.Backing backing;
    private final Fetcher fetcher;
    private final LongSupplier clock;
    /** By number. A home stays in the list when no extent lives there any more. */
    private final List<Home> all = new ArrayList<>();

    private SpaceMap map;
    private @Nullable Home[] home;
    private int version;
    /** Slots that each home is guaranteed, and how many guaranteed slots are free over all homes. */
    private int share;

    private int reserved;

    /** @param clock monotonic nanoseconds */
    Homes(Pager.Backing backing, LongSupplier clock) {
        this.backing = backing;
        this.clock = clock;
        fetcher = backing.fetcher();
        map = backing.map().get();
        home = homesOf(map);
    }

    private @Nullable Home[] homesOf(SpaceMap of) {
        @Nullable Home[] each = new Home[of.extents()];
        for (int extent = 0; extent < each.length; extent++) {
            each[extent] = of.node(extent).equals(backing.node())
                    ? null
                    : home(backing.links().apply(of.node(extent)));
        }
        share = all.size() < 2 ? 0 : Math.max(1, fetcher.capacity() / (2 * all.size()));
        reserved = 0;
        for (Home one : all) {
            reserved += Math.max(0, share - one.transfers());
        }
        return each;
    }

    private Home home(PeerLink link) {
        for (Home known : all) {
            if (known.link() == link) {
                return known;
            }
        }
        Home fresh = new Home(all.size() + 1, link);
        all.add(fresh);
        return fresh;
    }

    /** Uses the latest map from now on. */
    void refresh() {
        SpaceMap latest = backing.map().get();
        if (latest != map) {
            home = homesOf(latest);
            map = latest;
            version++;
        }
    }

    /** Changes whenever the map does. */
    int version() {
        return version;
    }

    /** Pages of the space. */
    int pages() {
        return (int) map.pages();
    }

    int extents() {
        return map.extents();
    }

    int extent(int page) {
        return map.extent(page);
    }

    int firstPage(int extent) {
        return (int) map.firstPage(extent);
    }

    /** Whether the pages of all extents are gone with their homes. */
    boolean areLost() {
        for (int extent = 0; extent < map.extents(); extent++) {
            if (!isLost(extent)) {
                return false;
            }
        }
        return true;
    }

    /** The page behind the last one of an extent. */
    int endPage(int extent) {
        return (int) (extent + 1 < map.extents() ? map.firstPage(extent + 1) : map.pages());
    }

    /** Whether the pages of an extent are gone with their home. */
    boolean isLost(int extent) {
        Home of = home[extent];
        return map.isLost(extent)
                || (of == null
                        ? map.incarnation(extent) != backing.incarnation()
                        : of.link().hasLost(map.incarnation(extent)));
    }

    /** Whether pages of some extent are gone with their home. */
    boolean isAnyLost() {
        for (int extent = 0; extent < map.extents(); extent++) {
            if (isLost(extent)) {
                return true;
            }
        }
        return false;
    }

    /** Home of an extent, or null if the pages live on this node. */
    @Nullable
    Home home(int extent) {
        return home[extent];
    }

    /** As {@link #home(int)}, of an extent whose pages live on another node. */
    Home remote(int extent) {
        return Objects.requireNonNull(home[extent]);
    }

    /** The highest number of a home. */
    int count() {
        return all.size();
    }

    /** A home by its number, from 1 on. */
    Home numbered(int number) {
        return all.get(number - 1);
    }

    /** Whether there are several homes on other nodes. */
    boolean areSeveral() {
        return all.size() > 1;
    }

    /** Whether a transfer with a home leaves the guaranteed slots of the other homes free. */
    boolean mayTransfer(Home with) {
        return share == 0
                || with.transfers() < share
                || (with.answers(clock.getAsLong()) && fetcher.capacity() - fetcher.inUse() > reserved);
    }

    /** Whether a home with pages that are not lost does not answer. Walks all extents, unless every home answers. */
    boolean isAnySilent() {
        boolean doAllAnswer = true;
        for (int i = 0; i < all.size(); i++) {
            doAllAnswer &= answers(all.get(i));
        }
        for (int extent = 0; !doAllAnswer && extent < home.length; extent++) {
            Home one = home[extent];
            if (one != null && !answers(one) && !isLost(extent)) {
                return true;
            }
        }
        return false;
    }

    /** Whether a home's link is up and it completes transfers. */
    boolean answers(Home one) {
        return one.answers(clock.getAsLong());
    }

    /** Pages on their way to homes that do not answer. */
    int stuckWrites() {
        int stuck = 0;
        for (int i = 0; i < all.size(); i++) {
            Home one = all.get(i);
            stuck += one.writing() > 0 && !answers(one) ? one.writing() : 0;
        }
        return stuck;
    }

    /** A transfer of so many pages has begun. */
    void begin(Home with, int pages, boolean write) {
        reserved -= with.transfers() < share ? 1 : 0;
        with.begin(pages, write, clock.getAsLong());
    }

    /** A transfer of so many pages has ended. */
    void end(Home with, int pages, boolean write) {
        with.end(pages, write);
        reserved += with.transfers() < share ? 1 : 0;
    }

    /** A transfer with a home has completed. */
    void completed(Home one, boolean succeeded) {
        one.completed(succeeded, clock.getAsLong());
    }

    long incarnation(int extent) {
        return map.incarnation(extent);
    }

    /** Where a page starts within the home's exported frames, bytes. */
    long offset(int extent, int page) {
        return map.offset(extent, page);
    }

    /** How many of {@code count} pages from {@code page} on live one after the other in an extent. */
    int contiguous(int extent, int page, int count) {
        return Math.min(count, endPage(extent) - page);
    }

    /** Name of the node that an extent lives on, for messages. */
    String name(int extent) {
        return map.node(extent);
    }
}
