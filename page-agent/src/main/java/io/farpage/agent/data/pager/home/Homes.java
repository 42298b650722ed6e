package io.farpage.agent.data.pager.home;

import io.farpage.agent.data.shard.SilenceClock;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Where the pages of a guest's space live, and from which of several homes they are read. The shard's thread only.
 * Lookups allocate nothing; a new map does.
 */
public final class Homes {
    private final PagerBacking backing;
    private final LongSupplier clock;
    private final SilenceClock silence;
    private final RemoteHomes remotes;

    private SpaceMap map;
    /** By extent: the first home. */
    private @Nullable Home[] home;
    /** By extent and copy, if the map is mirrored. */
    private @Nullable Home[][] copies = {};

    private final JoiningHomes joinings = new JoiningHomes();
    private final SuspectPages suspects = new SuspectPages();
    /** Whether the map names this node. */
    private boolean isThisNode;

    private boolean isAnyUnallocated;
    /** By extent: one more than the epoch in which it was withdrawn. */
    private long[] withdrawn = {};

    private int version;

    /**
     * @param clock monotonic nanoseconds
     * @param silence by which homes count as silent
     */
    public Homes(PagerBacking backing, LongSupplier clock, SilenceClock silence) {
        this.backing = backing;
        this.clock = clock;
        this.silence = silence;
        remotes = new RemoteHomes(backing.fetcher(), silence);
        map = backing.map().get();
        home = homesOf(map);
    }

    private @Nullable Home[] homesOf(SpaceMap of) {
        remotes.beginMap();
        isThisNode = false;
        isAnyUnallocated = of.isAnyUnallocated();
        @Nullable Home[] each = new Home[of.extents()];
        for (int extent = 0; extent < each.length; extent++) {
            each[extent] = of.isReadable(extent) ? homeOn(of.node(extent), of.incarnation(extent)) : null;
        }
        copies = of.isMirrored() ? copiesOf(of) : new Home[0][];
        joinings.follow(of, this::homeOn, clock.getAsLong());
        remotes.divideSlots();
        return each;
    }

    private @Nullable Home homeOn(String node, long pool) {
        if (node.equals(backing.node())) {
            isThisNode = true;
            return null;
        }
        return remotes.at(backing.links().apply(node), pool);
    }

    private @Nullable Home[][] copiesOf(SpaceMap of) {
        @Nullable Home[][] all = new Home[of.extents()][];
        for (int extent = 0; extent < all.length; extent++) {
            @Nullable Home[] each = new Home[of.copies(extent)];
            for (int copy = 0; copy < each.length; copy++) {
                each[copy] = homeOn(of.node(extent, copy), of.incarnation(extent, copy));
            }
            all[extent] = each;
        }
        return all;
    }

    /** Uses the latest map from now on. */
    public void refresh() {
        SpaceMap latest = backing.map().get();
        if (latest != map) {
            home = homesOf(latest);
            suspects.clear();
            map = latest;
            version++;
            isAnyUnallocated |= isAnyWithdrawn();
        }
    }

    /** Changes whenever the map does. */
    public int version() {
        return version;
    }

    /** Pages of the space. */
    public int pages() {
        return (int) map.pages();
    }

    public int extents() {
        return map.extents();
    }

    public int extent(int page) {
        return map.extent(page);
    }

    public int firstPage(int extent) {
        return (int) map.firstPage(extent);
    }

    /** Whether some extents have no homes of their own yet. */
    public boolean isAnyUnallocated() {
        return isAnyUnallocated;
    }

    /**
     * Whether an extent has homes of its own. If not, no page can be written home, and what the guest has written is
     * nowhere but in its memory.
     */
    public boolean isAllocated(int extent) {
        return !isAnyUnallocated || (map.isAllocated(extent) && !isWithdrawn(extent));
    }

    /** Whether the pages of an extent are read from the homes of a snapshot, since it has none itself. */
    public boolean isAtBase(int extent) {
        return isAnyUnallocated && map.isAtBase(extent);
    }

    /** Whether the pages of an extent are read from homes, its own or those of a snapshot. */
    public boolean isReadable(int extent) {
        return isAllocated(extent) || map.isAtBase(extent);
    }

    /**
     * Whether an extent, whose pages are zeros, counts as one without homes in its present epoch, because its room is
     * being given back.
     */
    public boolean isWithdrawn(int extent) {
        return withdrawn.length > 0 && withdrawn[extent] == map.epoch(extent) + 1;
    }

    /** Counts an extent as one without homes from now on, as long as it is in its present epoch. */
    public void withdraw(int extent) {
        withdrawn = withdrawn.length == 0 ? new long[map.extents()] : withdrawn;
        withdrawn[extent] = map.epoch(extent) + 1;
        isAnyUnallocated = true;
    }

    /** The room of an extent is not given back. */
    public void reinstate(int extent) {
        if (isWithdrawn(extent)) {
            withdrawn[extent] = 0;
        }
    }

    /** Whether pages that have to be written may wait for room, or for the answer whether room was given back. */
    public boolean mayWaitForRoom() {
        return isAnyUnallocated && (backing.mirroring().hasNoRoom() || isAnyWithdrawn());
    }

    private boolean isAnyWithdrawn() {
        boolean any = false;
        for (int extent = 0; extent < map.extents(); extent++) {
            any |= isWithdrawn(extent);
        }
        return any;
    }

    /**
     * Whether a resident page of an extent stays in the guest's memory as the only copy: the extent's homes are lost,
     * or the extent has no homes and no node has room for it.
     *
     * @param isClean whether it is the same at its home, which may be that of a snapshot
     */
    public boolean isOnlyCopy(int extent, boolean isClean) {
        return isLost(extent) || (isRoomless(extent) && !(isClean && isAtBase(extent)));
    }

    /** Whether an extent has no homes of its own, and no room at any. */
    private boolean isRoomless(int extent) {
        return !isAllocated(extent) && backing.mirroring().hasNoRoom();
    }

    /** First page of an extent in the whole space. */
    public long origin(int extent) {
        return map.origin(extent);
    }

    /** How often the homes of an extent have changed. */
    public long epoch(int extent) {
        return map.epoch(extent);
    }

    /** Whether the pages of all extents are gone with their homes. */
    public boolean areLost() {
        for (int extent = 0; extent < map.extents(); extent++) {
            if (!isLost(extent)) {
                return false;
            }
        }
        return true;
    }

    /** The page behind the last one of an extent. */
    public int endPage(int extent) {
        return (int) Math.min(map.pages(), map.endPage(extent));
    }

    /**
     * Whether the pages of an extent are gone with all their homes. Only the map says so: a home whose node has another
     * pool now may be one that the map has dropped already, or that an earlier map does not have yet.
     */
    public boolean isLost(int extent) {
        return map.isLost(extent) || (copies(extent) == 1 && isLost(extent, 0));
    }

    /** Whether a home of an extent is a pool that this node had before. */
    public boolean isLost(int extent, int copy) {
        return home(extent, copy) == null && map.incarnation(extent, copy) != backing.incarnation();
    }

    /** Whether some extents have several homes, or one that joins. */
    public boolean isMirrored() {
        return copies.length > 0;
    }

    /** Whether an extent has several homes, or one that joins. */
    public boolean isMirrored(int extent) {
        return copies.length > 0 && (copies[extent].length > 1 || joinings.of(extent) != null);
    }

    /** The homes on other nodes. */
    public RemoteHomes remotes() {
        return remotes;
    }

    /** Whether the map names this node, as a home or as one that joins. */
    public boolean isThisNode() {
        return isThisNode;
    }

    /** The first home on another node that pages of an extent are written to; null if this node is the only home. */
    @Nullable
    public Home firstRemote(int extent) {
        for (int copy = 0; copy < copies(extent); copy++) {
            Home one = home(extent, copy);
            if (one != null) {
                return one;
            }
        }
        return null;
    }

    /** The homes that join. */
    public JoiningHomes joinings() {
        return joinings;
    }

    /** Whether a pool, as extents name it, is that of this node. */
    public boolean isOwnPool(long pool) {
        return pool == backing.incarnation();
    }

    /** Whether a home is one of an extent, or joins it. */
    public boolean isHomeOf(int extent, Home one) {
        for (int copy = 0; copy < copies(extent); copy++) {
            if (home(extent, copy) == one) {
                return true;
            }
        }
        Joining joining = joinings.of(extent);
        return joining != null && joining.home() == one;
    }

    /** How many homes the pages of an extent are read from, without one that joins. */
    public int copies(int extent) {
        return !isReadable(extent) ? 0 : copies.length > 0 ? copies[extent].length : 1;
    }

    /** A home of an extent, counted from 0; null if it is this node. */
    @Nullable
    public Home home(int extent, int copy) {
        return copies.length == 0 ? home[extent] : copies[extent][copy];
    }

    public long incarnation(int extent, int copy) {
        return map.incarnation(extent, copy);
    }

    public long offset(int extent, int copy, int page) {
        return map.offset(extent, copy, page);
    }

    /** Higher for a later map. */
    public long revision() {
        return map.revision();
    }

    public Mirroring mirroring() {
        return backing.mirroring();
    }

    /**
     * Which home of an extent pages are read from now: this node, or one that answers; if none does, one that is not
     * lost. Nodes and extents begin with different homes, so that these share the reads.
     */
    public int reader(int extent) {
        int count = copies(extent);
        if (count == 1) {
            return 0;
        }
        int best = 0;
        int rank = 0;
        int first = map.firstReader(extent, backing.node());
        for (int i = 0; i < count; i++) {
            int copy = first + i < count ? first + i : first + i - count;
            int its = rank(extent, copy);
            if (its > rank) {
                rank = its;
                best = copy;
            }
        }
        return best;
    }

    /** As {@link #reader(int)}, for one page: if it did not open from some homes, one that was not tried, up or not. */
    public int reader(int extent, int page) {
        int tried = suspects.tried(page);
        int best = -1;
        int rank = 0;
        for (int copy = 0; tried != 0 && copy < copies(extent); copy++) {
            int its = (tried & 1 << copy) != 0 ? 0 : rank(extent, copy);
            if (its > rank) {
                rank = its;
                best = copy;
            }
        }
        return best < 0 ? reader(extent) : best;
    }

    /** The home that a page is read from now, or null if that is this node or it has none. */
    @Nullable
    public Home homeOf(int page) {
        int extent = extent(page);
        return copies.length == 0 || !isReadable(extent) ? home[extent] : home(extent, reader(extent, page));
    }

    /** Pages that did not open from some of their homes. */
    public SuspectPages suspects() {
        return suspects;
    }

    private int rank(int extent, int copy) {
        if (isLost(extent, copy)) {
            return 0;
        }
        Home one = home(extent, copy);
        if (one == null) {
            return 5;
        }
        boolean isDistrusted = one.isDistrusted(clock.getAsLong());
        if (!isDistrusted && one.isPreferred(silence.now())) {
            return 4;
        }
        return one.isUp() ? isDistrusted ? 2 : 3 : 1;
    }

    /** Another home to read from than {@code slow}, which answers; -1 if there is none. */
    public int otherReader(int extent, Home slow) {
        for (int copy = 0; copy < copies(extent); copy++) {
            Home one = home(extent, copy);
            if (one != null && one != slow && !one.isDistrusted(clock.getAsLong()) && one.isPreferred(silence.now())) {
                return copy;
            }
        }
        return -1;
    }

    /**
     * A page came from a home other than it was sealed. Returns whether another home may have it unaltered: one that is
     * not lost and that was not tried. {@link #reader(int, int)} names it from now on; if its link is down, the page
     * waits for it.
     *
     * @param liar null if that is this node
     */
    public boolean suspect(int page, @Nullable Home liar) {
        int extent = map.extent(page);
        if (copies(extent) == 1) {
            return false;
        }
        if (liar != null) {
            liar.distrust(clock.getAsLong());
        }
        boolean isLeft = false;
        for (int copy = 0; copy < copies(extent); copy++) {
            if (home(extent, copy) == liar) {
                suspects.add(page, copy);
            }
        }
        for (int copy = 0; copy < copies(extent); copy++) {
            isLeft |= !isLost(extent, copy) && (suspects.tried(page) & 1 << copy) == 0;
        }
        if (!isLeft) {
            suspects.remove(page);
        }
        return isLeft;
    }

    /** The copy of an extent that this node is the home of; -1 if there is none. */
    public int localCopy(int extent) {
        for (int copy = 0; copy < copies(extent); copy++) {
            if (home(extent, copy) == null && !isLost(extent, copy)) {
                return copy;
            }
        }
        return -1;
    }

    /** Whether pages of some extent are gone with their home. */
    public boolean isAnyLost() {
        for (int extent = 0; extent < map.extents(); extent++) {
            if (isLost(extent)) {
                return true;
            }
        }
        return false;
    }

    /** Home that pages of an extent are read from now, or null if that is this node or it has none. */
    @Nullable
    public Home home(int extent) {
        return copies.length == 0 || !isReadable(extent) ? home[extent] : home(extent, reader(extent));
    }

    /** As {@link #home(int)}, of an extent whose pages live on another node. */
    public Home remote(int extent) {
        return Objects.requireNonNull(home(extent));
    }

    /** Whether a home with pages that are not lost does not answer. Walks all extents, unless every home answers. */
    public boolean isAnySilent() {
        boolean doAllAnswer = remotes.doAllAnswer();
        for (int extent = 0; !doAllAnswer && extent < home.length; extent++) {
            Home one = home(extent);
            if (one != null && !remotes.answers(one) && !isLost(extent)) {
                return true;
            }
        }
        return false;
    }

    /** Where a page starts within the exported frames of this node, one of its homes, bytes. */
    public long localOffset(int extent, int page) {
        return map.offset(extent, localCopy(extent), page);
    }

    /** How many of {@code count} pages from {@code page} on live one after the other in an extent. */
    public int contiguous(int extent, int page, int count) {
        return Math.min(count, endPage(extent) - page);
    }

    /** Name of the node that an extent lives on, for messages. */
    public String name(int extent) {
        return map.node(extent);
    }

    /** Name of the node of a home of an extent, counted from 0, for reports. */
    public String name(int extent, int copy) {
        return map.node(extent, copy);
    }
}
