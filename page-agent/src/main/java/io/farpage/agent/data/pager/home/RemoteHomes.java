package io.farpage.agent.data.pager.home;

import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.SilenceClock;
import java.util.ArrayList;
import java.util.List;

/**
 * The homes on other nodes, by number, and how they share the transfer slots of a pager. Each of several homes that the
 * map names is guaranteed a share of the slots; a home that does not answer gets no more than its share, so that it
 * delays only its own pages. The shard's thread only. Allocates nothing, but for a new home.
 */
public final class RemoteHomes {
    private final Fetcher fetcher;
    private final SilenceClock silence;
    /**
     * By number. A home stays in the list when no extent lives there, since transfers with it may be under way; when
     * none is, another one may get its number.
     */
    private final List<Home> all = new ArrayList<>();

    private int named;
    /** Slots that each home is guaranteed, and how many guaranteed slots are free over all homes. */
    private int share;

    private int reserved;

    /** @param silence by which homes count as silent */
    RemoteHomes(Fetcher fetcher, SilenceClock silence) {
        this.fetcher = fetcher;
        this.silence = silence;
    }

    /** A new map begins, which names no home yet. */
    void beginMap() {
        for (Home one : all) {
            one.beginMap();
        }
    }

    /**
     * A home that the map names: a pool of the node that a link leads to. It is numbered if it is new.
     * {@link #divideSlots} must follow.
     */
    Home at(PeerLink link, long pool) {
        for (Home known : all) {
            if (known.is(link, pool)) {
                known.name();
                return known;
            }
        }
        Home fresh = new Home(freeNumber(), link, pool);
        fresh.name();
        if (fresh.number() > all.size()) {
            all.add(fresh);
        } else {
            all.set(fresh.number() - 1, fresh);
        }
        return fresh;
    }

    /** The number of a home that the map before did not name either, or the next one. */
    private int freeNumber() {
        for (Home former : all) {
            if (former.isForgotten()) {
                return former.number();
            }
        }
        return all.size() + 1;
    }

    /** Divides the slots among the homes that the map names. */
    void divideSlots() {
        named = 0;
        for (Home one : all) {
            named += one.isNamed() ? 1 : 0;
        }
        share = named < 2 ? 0 : Math.max(1, fetcher.capacity() / (2 * named));
        reserved = 0;
        for (Home one : all) {
            reserved += one.isNamed() ? Math.max(0, share - one.transfers()) : 0;
        }
    }

    /** The highest number of a home. */
    public int count() {
        return all.size();
    }

    /** How many homes the map names. */
    public int named() {
        return named;
    }

    /** A home by its number, from 1 on. */
    public Home numbered(int number) {
        return all.get(number - 1);
    }

    /** Whether the map names several. */
    public boolean areSeveral() {
        return named > 1;
    }

    /** Whether a home's link is up and it completes transfers. */
    public boolean answers(Home one) {
        return one.answers(silence.now());
    }

    /** Whether all of them answer. */
    boolean doAllAnswer() {
        boolean doAllAnswer = true;
        for (int i = 0; i < all.size(); i++) {
            doAllAnswer &= answers(all.get(i));
        }
        return doAllAnswer;
    }

    /** Whether a transfer with a home leaves the guaranteed slots of the other homes free. */
    public boolean mayTransfer(Home with) {
        return share == 0
                || isWithinShare(with)
                || (with.answers(silence.now()) && fetcher.capacity() - fetcher.inUse() > reserved);
    }

    /** Whether a home takes another READ now: its link is up, and it answers, or has nothing else to answer. */
    public boolean takesReads(Home from) {
        return from.takesReads(silence.now());
    }

    private boolean isWithinShare(Home one) {
        return one.isNamed() && one.transfers() < share;
    }

    /** Pages on their way to homes that do not answer. */
    public int stuckWrites() {
        int stuck = 0;
        for (int i = 0; i < all.size(); i++) {
            Home one = all.get(i);
            stuck += one.writing() > 0 && !answers(one) ? one.writing() : 0;
        }
        return stuck;
    }

    /** A transfer of {@code pages} pages has begun. */
    public void begin(Home with, int pages, boolean write) {
        reserved -= isWithinShare(with) ? 1 : 0;
        with.begin(pages, write);
    }

    /** A transfer of {@code pages} pages has ended. */
    public void end(Home with, int pages, boolean write) {
        with.end(pages, write);
        reserved += isWithinShare(with) ? 1 : 0;
    }
}
