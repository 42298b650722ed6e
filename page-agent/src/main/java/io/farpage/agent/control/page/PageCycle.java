package io.farpage.agent.control.page;

import io.farpage.agent.control.page.PageRequest.Place;
import io.farpage.agent.data.shard.DutyCycle;
import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.KeyUse;
import io.farpage.agent.data.shard.Priority;
import io.farpage.pool.PagePool;
import io.farpage.pool.frames.FrameAllocator;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/**
 * Carries out {@link PageRequest}s on a shard's thread, in the order of their submission for any one page. Unlike the
 * fault path it allocates.
 */
final class PageCycle implements DutyCycle {
    private final Fetcher fetcher;
    private final PagePool pool;
    private final Queue<PageRequest> submitted = new ConcurrentLinkedQueue<>();
    private final Deque<PageRequest> waiting = new ArrayDeque<>();
    private final Set<Place> busy = new HashSet<>();
    private final @Nullable PageRequest[] underWay;
    private final int[] frame;

    PageCycle(Fetcher fetcher, PagePool pool) {
        this.fetcher = fetcher;
        this.pool = pool;
        this.underWay = new PageRequest[fetcher.capacity()];
        this.frame = new int[fetcher.capacity()];
    }

    /** Any thread; the caller wakes the shard. */
    void submit(PageRequest request) {
        submitted.add(request);
    }

    @Override
    public int doWork() {
        int work = finishDone();
        for (PageRequest request = submitted.poll(); request != null; request = submitted.poll()) {
            waiting.add(request);
            work++;
        }
        return work == 0 || waiting.isEmpty() ? work : work + startWaiting();
    }

    /** Requests that still wait need a completion of another one, which wakes the shard. */
    @Override
    public boolean isQuiescent() {
        return true;
    }

    private int startWaiting() {
        int started = 0;
        Set<Place> blocked = new HashSet<>(busy);
        for (Iterator<PageRequest> all = waiting.iterator(); all.hasNext(); ) {
            PageRequest request = all.next();
            // A request behind one for the same page waits for it, so that the two happen in order.
            if (!blocked.add(request.place())) {
                continue;
            }
            if (!start(request)) {
                break;
            }
            all.remove();
            started++;
        }
        if (busy.isEmpty() && !waiting.isEmpty()) {
            // No transfer of this tool is under way that would free frames: guests hold all staging frames.
            refuse(waiting.remove());
        }
        return started;
    }

    private boolean start(PageRequest request) {
        if (fetcher.inUse() == fetcher.capacity()) {
            return false;
        }
        FrameAllocator frames = pool.stagingFrames();
        int first = frames.allocateRun(framesOf(request));
        if (first == FrameAllocator.NONE) {
            return false;
        }
        MemorySegment staging = staging(first, request.length());
        byte[] data = request.data();
        Place place = request.place();
        int slot;
        if (data != null) {
            MemorySegment.copy(data, 0, staging, ValueLayout.JAVA_BYTE, 0, data.length);
            slot = fetcher.write(
                    request.home(), place.incarnation(), place.offset(), request.length(), staging.address());
        } else {
            slot = fetcher.read(
                    Priority.BULK,
                    request.home(),
                    place.incarnation(),
                    place.offset(),
                    request.length(),
                    staging.address());
        }
        underWay[slot] = request;
        frame[slot] = first;
        busy.add(place);
        return true;
    }

    private static void refuse(PageRequest request) {
        request.result()
                .completeExceptionally(new PageException(
                        FetchStatus.REFUSED,
                        request + ": no " + request.length()
                                + " bytes of staging memory are free; raise pool.staging"));
    }

    private int finishDone() {
        int work = 0;
        for (int slot = fetcher.poll(); slot != Fetcher.NONE; slot = fetcher.poll()) {
            work++;
            PageRequest request = underWay[slot];
            FetchStatus status = fetcher.status(slot);
            underWay[slot] = null;
            fetcher.release(slot);
            if (request != null) {
                finish(request, status, frame[slot]);
            }
        }
        return work;
    }

    private void finish(PageRequest request, FetchStatus status, int first) {
        busy.remove(request.place());
        byte[] result = new byte[0];
        if (status == FetchStatus.OK && !request.isWrite()) {
            result = staging(first, request.length()).toArray(ValueLayout.JAVA_BYTE);
        }
        pool.stagingFrames().freeRun(first, framesOf(request));
        if (status == FetchStatus.OK) {
            request.result().complete(result);
        } else {
            request.result().completeExceptionally(new PageException(status, describe(request, status)));
        }
    }

    private static String describe(PageRequest request, FetchStatus status) {
        String home = request.place().node();
        String why = request.home().lastFailure();
        return request + ": "
                + switch (status) {
                    case DEADLINE -> late(request, home, why);
                    case REFUSED -> home + " refused the request" + (why.isEmpty() ? "" : ": " + why);
                    case UNREACHABLE -> "the link to " + home + " is down" + (why.isEmpty() ? "" : ": " + why);
                    case CLOSED -> "the agent is shutting down";
                    case PENDING, OK, PAGE_LOST -> throw new AssertionError(status);
                };
    }

    private static String late(PageRequest request, String home, String why) {
        if (leadsElsewhere(request)) {
            return home
                    + " was started anew with another pool, and the coordinator has not said within the deadline what"
                    + " became of its pages";
        }
        if (missesGrant(request)) {
            return "no grant: " + home
                    + " has told this node no key for these bytes within the deadline; see the log of " + home;
        }
        return "no answer from " + home + " within the deadline" + (why.isEmpty() ? "" : "; last failure: " + why);
    }

    private static boolean leadsElsewhere(PageRequest request) {
        return request.home().isUp() && !request.home().leadsTo(request.place().incarnation());
    }

    private static boolean missesGrant(PageRequest request) {
        return request.home().isUp()
                && !request.home().isGranted(KeyUse.ATTACHMENT, request.place().offset(), request.length());
    }

    private MemorySegment staging(int first, int length) {
        return pool.staging().asSlice(pool.offset(first), length);
    }

    private int framesOf(PageRequest request) {
        return Math.ceilDiv(request.length(), pool.frameBytes());
    }
}
