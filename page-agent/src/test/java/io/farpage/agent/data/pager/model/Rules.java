package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.model.SimulatedNetwork.Transfer;
import java.util.List;

/** Which steps apply at the moment. */
final class Rules {
    private Rules() {}

    /** Whether a step applies now; if not, it is passed over. */
    static boolean allow(Step step, boolean inCycle, World world) {
        Setup setup = world.setup;
        Fabric fabric = world.fabric;
        Processes guest = world.guest;
        SimulatedKernel kernel = world.kernel();
        if (world.snapshot.isPaused() && !isPossibleWhilePaused(step, world)) {
            return false;
        }
        int first = step.first();
        int second = step.second();
        if (setup.has(Feature.SCARCE_MEMORY) && keepsPages(step.kind())) {
            return false;
        }
        return switch (step.kind()) {
            case AGENT -> !inCycle;
            // The kernel fills the part of a page with zeros long before the agent forgets the removal.
            case WAIT, EXPIRE -> !inCycle && !guest.isRemovingPart();
            case LIFE -> !inCycle && !world.isAnyHomeLost();
            case LOSE ->
                !setup.isThin()
                        && fabric.isHome(first, home -> !home.isLost())
                        && kernel.isAlive()
                        && (world.isPrivate() || !guest.hasChild());
            case PROBE -> !inCycle && world.agent.ended() == null;
            case KILL ->
                setup.has(Feature.KEPT) && world.agent.ended() == null && world.agent.kills() < Agent.MAX_KILLS;
            case FORK ->
                !setup.has(Feature.KEPT) && (world.isPrivate() || !world.isAnyHomeLost()) && guest.canFork(first);
            case CHILD_END -> guest.hasChild();
            case READ, WRITE, ZERO -> guest.isIdle(first) && second < setup.pages();
            case DIRECT -> canReadDirectly(world, first, second);
            case REMOVE -> guest.isIdle(first) && canRemove(world, second, 1);
            case REMOVE_TWO -> guest.isIdle(first) && canRemove(world, second, 2);
            case DISCARD ->
                !world.isPrivate() && !guest.hasForked() && guest.isIdle(first) && canRemove(world, second, 1);
            case REMOVE_PART -> canRemovePart(world) && guest.isIdle(first) && canRemove(world, second, 1);
            case REMOVE_ACROSS -> canRemovePart(world) && guest.isIdle(first) && canRemove(world, second, 3);
            case INSPECT -> world.pins.canBegin();
            case INSPECTED -> world.pins.canEnd();
            case RUN -> first < world.threads.size() && World.canRun(world.threads.get(first));
            case LAND -> canLand(world, first, second);
            case LAND_LATE -> first < fabric.late();
            case COMPLETE -> fabric.isHome(first, home -> !home.underWay().isEmpty());
            case BREAK -> fabric.isHome(first, SimulatedHome::isUp);
            case CONNECT -> fabric.isHome(first, SimulatedHome::canConnect);
            // Which threads may wait for a silent home is not defined in the model where homes join and are dropped.
            case SILENCE ->
                !world.setup.has(Feature.JOINING) && fabric.isHome(first, home -> !home.isSilent() && !home.isLost());
            case ANSWER -> fabric.isHome(first, SimulatedHome::isSilent);
            case DROP -> fabric.canDrop(first);
            case JOIN -> fabric.canJoin(first) && world.agent.ended() == null && kernel.isAlive();
            case PULL_BEGIN -> fabric.canBeginPull(first);
            case PULL -> fabric.canPull(first);
            case PULL_END -> fabric.canEndPull(first);
            case PROMOTE ->
                fabric.canPromote(first) && (second == 0 || fabric.isHome(second - 1, SimulatedHome::isMember));
            case ALLOCATE -> setup.isThin() && world.coordinator.room().canAllocate(first);
            case REFUSE -> setup.isThin() && world.coordinator.room().canRefuse();
            case WITHDRAW ->
                !inCycle
                        && setup.isThin()
                        && world.agent.ended() == null
                        && world.coordinator.room().canWithdraw(first);
            case GIVE_BACK -> setup.isThin() && world.coordinator.room().isWithdrawn(first);
            case REINSTATE ->
                !inCycle && setup.isThin() && world.coordinator.room().isWithdrawn(first);
            case RESIZE -> first >= 1 && first <= World.MAX_LIMIT;
            // The shard executes these between duty cycles.
            case PARK -> !inCycle && first >= 1 && first <= World.MAX_LIMIT;
            case UNPARK -> !inCycle && world.agent.pager().isParked();
            case STARVE -> true;
            case SPLIT -> first > 0 && first < setup.pages();
            case RECLAIM -> first < setup.pages() && kernel.isMapped(first) && !setup.has(Feature.LARGE_PAGES);
            // The shard executes these between duty cycles.
            case PREPARE -> !inCycle && world.snapshot.canPrepare();
            case FREEZE -> !inCycle && world.snapshot.canBegin();
            case HAND_OVER -> !inCycle && world.snapshot.canHandOver();
            case THAW -> !inCycle && world.snapshot.canThaw(first == 1);
            case END -> kernel.isAlive();
        };
    }

    /** Processors stand still. Devices go on, and so does a call that the VMM was in. */
    private static boolean isPossibleWhilePaused(Step step, World world) {
        return switch (step.kind()) {
            case READ, WRITE, ZERO, DIRECT, REMOVE, REMOVE_TWO, DISCARD, REMOVE_PART, REMOVE_ACROSS, FORK -> false;
            case RUN ->
                step.first() < world.threads.size()
                        && (world.threads.get(step.first()).state != GuestThread.State.WOKEN
                                || world.threads.get(step.first()).doing == Step.Kind.DIRECT);
            default -> true;
        };
    }

    /** Whether pages may have to stay resident after a step, which scarce memory does not allow. */
    private static boolean keepsPages(Step.Kind kind) {
        return switch (kind) {
            case LOSE, SILENCE, FORK, DIRECT, REMOVE_PART, REMOVE_ACROSS -> true;
            default -> false;
        };
    }

    private static boolean canReadDirectly(World world, int thread, int page) {
        return !world.isPrivate()
                && world.guest.isIdle(thread)
                && page < world.setup.pages()
                && !world.truth().isBeingRemoved(page)
                && !world.truth().isBeingPartlyRemoved(page);
    }

    private static boolean canRemove(World world, int page, int count) {
        boolean can = page + count <= world.setup.pages();
        for (int i = 0; i < count && can; i++) {
            can = !world.guest.isTarget(page + i);
        }
        return can;
    }

    /** Only MADV_REMOVE of a file with large pages gives up parts of pages; MADV_DONTNEED is refused or rounds. */
    private static boolean canRemovePart(World world) {
        return world.setup.has(Feature.LARGE_PAGES) && !world.isPrivate();
    }

    private static boolean canLand(World world, int transfer, int page) {
        List<Transfer> underWay = world.fabric.underWay();
        return transfer < underWay.size()
                && page < underWay.get(transfer).pages()
                && !underWay.get(transfer).landed().get(page);
    }
}
