package io.farpage.coordinator.extent;

import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PullState;
import java.util.List;

/** What may happen to an extent. Policies propose commands, and {@link ExtentLife} carries them out. */
public sealed interface ExtentCommand {

    /**
     * The pages get room, which holds zeros. Only where they have none.
     *
     * @param homes on nodes that have no place in the extent
     */
    record Allocate(List<ExtentHome> homes) implements ExtentCommand {
        /** Copies the list. */
        public Allocate {
            homes = List.copyOf(homes);
        }
    }

    /**
     * A pool joins an extent of a clone, to pull the pages of the snapshot. Only where the pages have no homes, and no
     * pool joins yet.
     *
     * @param home on a node that has no place in the extent
     */
    record Fill(ExtentHome home) implements ExtentCommand {}

    /**
     * The pool that joins has pulled the pages of the snapshot, and becomes a home together with others that are not
     * filled yet. Only after its pull, where the pages have no homes.
     */
    record Keep() implements ExtentCommand {}

    /** The filled pools are homes from now on. Only where there are some, and none joins. */
    record Complete() implements ExtentCommand {}

    /**
     * All pages that are not in the guest's memory are zeros, so that the room is given back: all homes are dropped,
     * and what joins. Only where they have room, and are not lost.
     */
    record Deallocate() implements ExtentCommand {}

    /**
     * A pool joins, to pull the pages from the homes. Only where no home joins yet, no page is lost, and the node has
     * no other place in the extent.
     *
     * @param begins {@link PullState#RUNNING} if no node can write to the space; {@link PullState#AWAITED} if the
     *     writer first has to note what it writes
     */
    record Join(ExtentHome home, PullState begins) implements ExtentCommand {}

    /** The writer notes what it writes, so the pool that joins may pull. Only of an awaited pull. */
    record AllowPull() implements ExtentCommand {}

    /** The pool that joins has pulled all pages; it may lack what was written meanwhile. Only of a running pull. */
    record FinishPull() implements ExtentCommand {}

    /**
     * The pool that joins has all pages and becomes a home, and with it what was filled. Only after its pull.
     *
     * @param replaced homes that it takes the places of; they are dropped. None in an extent that is filled
     */
    record Promote(List<ExtentHome> replaced) implements ExtentCommand {
        /** Copies the list. */
        public Promote {
            replaced = List.copyOf(replaced);
        }
    }

    /**
     * A home, a filled pool, or the pool that joins, is one no longer. WRITEs to it may be under way, so its frames
     * stay reserved. The last home is never dropped so, and no home of an extent whose pages are lost.
     */
    record Drop(ExtentHome home) implements ExtentCommand {}

    /** No WRITE is under way to the frames that were dropped up to an epoch: they are given back. */
    record GiveBack(long epoch) implements ExtentCommand {
        /** All frames that were dropped. */
        public static final GiveBack ALL = new GiveBack(Long.MAX_VALUE);
    }

    /**
     * The homes are those of an extent of a snapshot from now on, and this one has none: its pages are read there. Only
     * where no page is lost, no home joins and no frames were dropped.
     */
    record HandOver() implements ExtentCommand {}

    /** The memory of a pool is gone, and with it a home, what was filled or joins, or frames that were dropped. */
    record Lose(String node, Incarnation pool) implements ExtentCommand {
        boolean isOf(ExtentHome place) {
            return place.node().equals(node) && place.incarnation().equals(pool);
        }
    }
}
