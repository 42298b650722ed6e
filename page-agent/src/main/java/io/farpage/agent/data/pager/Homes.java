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
    /** By extent: the first home. */
    private @Nullable Home[] home;
    /** By extent and copy, if the map is mirrored. */
    private @Nullable Home[][] copies = {};

    private final JoiningHomes joinings = new JoiningHomes();

    private final Mirroring mirroring;
    private final long startedAt;
    private int version;
    /** Slots that each home is guaranteed, and how many guaranteed slots are free over all homes. */
    private int share;

    private int reserved;

    /** @param clock monotonic nanoseconds */
    Homes(Pager.Backing backing, LongSupplier clock) {
        this.backing = backing;
        this.clock = clock;
        fetcher = backing.fetcher();
        mirroring = backing.mirroring();
        startedAt = clock.getAsLong();
        map = backing.map().get();
        home = homesOf(map);
    }

    private @Nullable Home[] homesOf(SpaceMap of) {
        @Nullable Home[] each = new Home[of.extents()];
        for (int extent = 0; extent < each.length; extent++) {
            each[extent] = homeOn(of.node(extent));
        }
        copies = of.isMirrored() ? copiesOf(of) : new Home[0][];
        joinings.follow(of, this::homeOn, clock.getAsLong());
        share = all.size() < 2 ? 0 : Math.max(1, fetcher.capacity() / (2 * all.size()));
        reserved = 0;
        for (Home one : all) {
            reserved += Math.max(0, share - one.transfers());
        }
        return each;
    }

    private @Nullable Home homeOn(String node) {
        return node.equals(backing.node()) ? null : home(backing.links().apply(node));
    }

    private @Nullable Home[][] copiesOf(SpaceMap of) {
        @Nullable Home[][] all = new Home[of.extents()][];
        for (int extent = 0; extent < all.length; extent++) {
            @Nullable Home[] each = new Home[of.copies(extent)];
            for (int copy = 0; copy < each.length; copy++) {
                each[copy] = homeOn(of.node(extent, copy));
            }
            all[extent] = each;
        }
        return all;
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

    /** Whether the pages of an extent are gone with all their homes. */
    boolean isLost(int extent) {
        if (map.isLost(extent)) {
            return true;
        }
        for (int copy = 0; copy < copies(extent); copy++) {
            if (!isLost(extent, copy)) {
                return false;
            }
        }
        return true;
    }

    /** Whether the memory of one home of an extent is gone. */
    boolean isLost(int extent, int copy) {
        Home of = home(extent, copy);
        long incarnation = map.incarnation(extent, copy);
        return of == null ? incarnation != backing.incarnation() : of.link().hasLost(incarnation);
    }

    /** Whether some extents have several homes, or one that joins. */
    boolean isMirrored() {
        return copies.length > 0;
    }

    /** Whether an extent has several homes, or one that joins. */
    boolean isMirrored(int extent) {
        return copies.length > 0 && (copies[extent].length > 1 || joinings.of(extent) != null);
    }

    /** The homes that join. */
    JoiningHomes joinings() {
        return joinings;
    }

    /**
     * The home that joins an extent and gets its WRITEs now; null if there is none. One whose link is down, or that has not answered for long, gets none
     * from now on.
     */
    @Nullable
    Joining written(int extent) {
        Joining joining = joinings.of(extent);
        if (joining == null || !joining.isWritten()) {
            return null;
        }
        Home on = joining.home();
        if (on != null && joining.state() == Joining.State.COPYING && isAway(on)) {
            joining.fail();
            return null;
        }
        return joining;
    }

    /** A WRITE of pages of one extent begins. */
    void writes(int extent, int page, int count) {
        Joining joining = joinings.of(extent);
        if (joining != null) {
            joining.note(page, count);
        }
    }

    /** Whether the link of a home is down, or it has not answered for so long that it is to be dropped. */
    boolean isAway(Home one) {
        return !one.isUp() || one.isQuietFor(mirroring.dropNanos(), clock.getAsLong());
    }

    /** Whether a pool, as extents name it, is that of this node. */
    boolean isOwnPool(long pool) {
        return pool == backing.incarnation();
    }

    /** Whether a home is one of an extent, or joins it. */
    boolean isHomeOf(int extent, Home one) {
        for (int copy = 0; copy < copies(extent); copy++) {
            if (home(extent, copy) == one) {
                return true;
            }
        }
        Joining joining = joinings.of(extent);
        return joining != null && joining.home() == one;
    }

    /** How many homes an extent has, without one that joins. */
    int copies(int extent) {
        return copies.length == 0 ? 1 : copies[extent].length;
    }

    /** A home of an extent, counted from 0; null if it is this node. */
    @Nullable
    Home home(int extent, int copy) {
        return copies.length == 0 ? home[extent] : copies[extent][copy];
    }

    long incarnation(int extent, int copy) {
        return map.incarnation(extent, copy);
    }

    long offset(int extent, int copy, int page) {
        return map.offset(extent, copy, page);
    }

    /** Higher for a later map. */
    long revision() {
        return map.revision();
    }

    Mirroring mirroring() {
        return mirroring;
    }

    /** Which home of an extent pages are read from now: this node, or the first that answers; if none does, the first that is not lost. */
    int reader(int extent) {
        int count = copies(extent);
        if (count == 1) {
            return 0;
        }
        long now = clock.getAsLong();
        int best = 0;
        int rank = 0;
        for (int copy = 0; copy < count; copy++) {
            int its = rank(extent, copy, now);
            if (its > rank) {
                rank = its;
                best = copy;
            }
        }
        return best;
    }

    private int rank(int extent, int copy, long now) {
        if (isLost(extent, copy)) {
            return 0;
        }
        Home one = home(extent, copy);
        if (one == null) {
            return 5;
        }
        if (one.isPreferred(now)) {
            return 4;
        }
        return one.isUp() ? one.isDistrusted() ? 2 : 3 : 1;
    }

    /** Another home to read from than {@code slow}, which answers; -1 if there is none. */
    int otherReader(int extent, Home slow) {
        long now = clock.getAsLong();
        for (int copy = 0; copy < copies(extent); copy++) {
            Home one = home(extent, copy);
            if (one != null && one != slow && !isLost(extent, copy) && one.isPreferred(now)) {
                return copy;
            }
        }
        return -1;
    }

    /** A page came from a home other than it was sealed. Returns whether another home may have it unaltered, which is asked from now on. */
    boolean distrust(int page, @Nullable Home liar) {
        int extent = map.extent(page);
        if (liar == null || copies(extent) == 1) {
            return false;
        }
        liar.distrust();
        for (int copy = 0; copy < copies(extent); copy++) {
            Home one = home(extent, copy);
            if (!isLost(extent, copy) && (one == null || (!one.isDistrusted() && one.isUp()))) {
                return true;
            }
        }
        return false;
    }

    /**
     * Whether all homes of an extent take WRITEs now. A home of several that does not is reported, so that it is dropped, if another one does.
     *
     * @param most pages that may be on their way to each
     */
    boolean takeWrites(int extent, int most) {
        boolean all = true;
        for (int copy = 0; copy < copies(extent); copy++) {
            Home one = home(extent, copy);
            if (one == null || isLost(extent, copy)) {
                continue;
            }
            report(extent, copy, one);
            all &= one.isUp() && one.writing() < most && mayTransfer(one);
        }
        return all;
    }

    /** Whether all homes of an extent that are not lost answer. */
    boolean doAllAnswer(int extent) {
        boolean all = true;
        for (int copy = 0; copy < copies(extent); copy++) {
            Home one = home(extent, copy);
            if (one != null && !isLost(extent, copy)) {
                report(extent, copy, one);
                all &= answers(one);
            }
        }
        return all;
    }

    /** Reports a home of several whose link is down, or that has not answered for long. */
    private void report(int extent, int copy, Home one) {
        if (copies(extent) > 1) {
            if (!one.isUp()) {
                suspect(extent, copy, false);
            } else if (one.isQuietFor(mirroring.dropNanos(), clock.getAsLong())) {
                suspect(extent, copy, true);
            }
        }
    }

    /** How many homes on other nodes a page of an extent is written to. */
    int writers(int extent) {
        int count = 0;
        for (int copy = 0; copy < copies(extent); copy++) {
            count += home(extent, copy) != null && !isLost(extent, copy) ? 1 : 0;
        }
        return count;
    }

    /** The copy of an extent that this node is the home of; -1 if there is none. */
    int localCopy(int extent) {
        for (int copy = 0; copy < copies(extent); copy++) {
            if (home(extent, copy) == null && !isLost(extent, copy)) {
                return copy;
            }
        }
        return -1;
    }

    /** Reports a home that does not take WRITEs, if another home of the extent does and this one had time to come up. */
    void suspect(int extent, int copy, boolean silent) {
        Home one = home(extent, copy);
        long now = clock.getAsLong();
        if (one == null
                || (one.link().connections() == 0 && now - startedAt < Mirroring.FIRST_LINK_NANOS)
                || !isAnotherWell(extent, one, now)
                || !one.suspect(now, Mirroring.REPEAT_NANOS)) {
            return;
        }
        mirroring.suspect(map.node(extent, copy), map.incarnation(extent, copy), silent);
    }

    private boolean isAnotherWell(int extent, Home than, long now) {
        for (int copy = 0; copy < copies(extent); copy++) {
            Home one = home(extent, copy);
            if (one != than && !isLost(extent, copy) && (one == null || one.answers(now))) {
                return true;
            }
        }
        return false;
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

    /** Home that pages of an extent are read from now, or null if that is this node. */
    @Nullable
    Home home(int extent) {
        return copies.length == 0 ? home[extent] : home(extent, reader(extent));
    }

    /** As {@link #home(int)}, of an extent whose pages live on another node. */
    Home remote(int extent) {
        return Objects.requireNonNull(home(extent));
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
            Home one = home(extent);
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

    /** Where a page starts within the exported frames of this node, one of its homes, bytes. */
    long localOffset(int extent, int page) {
        return map.offset(extent, localCopy(extent), page);
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
