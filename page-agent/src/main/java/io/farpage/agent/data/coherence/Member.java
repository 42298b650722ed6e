package io.farpage.agent.data.coherence;

import static io.farpage.agent.data.coherence.MemberPages.AHEAD;
import static io.farpage.agent.data.coherence.MemberPages.AWAITED;
import static io.farpage.agent.data.coherence.MemberPages.INVALID;
import static io.farpage.agent.data.coherence.MemberPages.INVALIDATED;
import static io.farpage.agent.data.coherence.MemberPages.LOST;
import static io.farpage.agent.data.coherence.MemberPages.MODIFIED;
import static io.farpage.agent.data.coherence.MemberPages.PARKED;
import static io.farpage.agent.data.coherence.MemberPages.READING;
import static io.farpage.agent.data.coherence.MemberPages.RECALLED;
import static io.farpage.agent.data.coherence.MemberPages.SENDING;
import static io.farpage.agent.data.coherence.MemberPages.SHARED;
import static io.farpage.agent.data.coherence.MemberPages.UPGRADING;
import static io.farpage.agent.data.coherence.MemberPages.VICTIM;
import static io.farpage.agent.data.coherence.MemberPages.WRITING;

import io.farpage.agent.data.coherence.MemberMemory.Outcome;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.PagerStatus;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.memory.FaultQueue;
import io.farpage.agent.data.pager.memory.PagerCounters;
import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.PageCensus;
import io.farpage.agent.data.pager.page.PageCensus.Where;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.shard.MessageChannel;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The memory of a process that uses a coherent space beside processes on other nodes. A page is resident to be read, by
 * any number of members, or to be written, by one. Faults request pages from the directory of their home; the directory
 * takes pages away again. The shard's thread only, but for what says otherwise.
 *
 * <p>Whatever would let a thread see an older version than another thread has seen ends the membership instead: every
 * access of the process to the memory gets SIGBUS from then on.
 */
final class Member implements CoherentMember {
    private static final Logger log = LoggerFactory.getLogger(Member.class);

    /** Requests of a member that a directory has not answered, and pages that it has sent to be evicted. */
    static final int MAX_REQUESTS = 16;

    /** Pages that are looked at in a duty cycle when the process has ended. */
    private static final int FLUSH_SWEEP = 4096;

    /** The node of a member. The shard's thread, but for what says otherwise. */
    interface Node {
        /** The channels that are open. */
        List<? extends MessageChannel> channels();

        /** The member is no longer used. Any thread. */
        void closed(Member member);
    }

    private final MemberGuest guest;
    private final Node node;
    private final MemberMemory memory;
    private final MemberEvents events;
    private final MemberPages pages;
    private final Evictions evictions;
    private final Deferred deferred = new Deferred();
    private final HoldTimes holds = new HoldTimes();
    private final ParkedPages parked = new ParkedPages();
    private final FaultQueue waiting = new FaultQueue();
    private final FaultQueue unpoisoned = new FaultQueue();
    /** Pages in a state of being requested that are not requested yet on the present channel to their home. */
    private final FaultQueue unrequested = new FaultQueue();

    private final MemberHomes homes;
    private final PagerCounters counters = new PagerCounters();
    private final Readahead readahead;
    private final LongSupplier clock;
    private final Duration flushDeadline;
    private final Consumer<PagerEnd> ended;

    private volatile long peakResident;
    /** Why every access gets SIGBUS; null while the memory is coherent. */
    private @Nullable String broken;

    private long flushUntil;
    private int flushHand;
    private boolean flushing;
    /** Whether this duty cycle has served its faults already. */
    private boolean isServed;

    /** Whether the kernel had no message when it was asked last, since the last duty cycle. */
    private boolean isIdle;

    /** Whether the last duty cycle has left no work for another one. */
    private boolean quiet;

    /** Whether it has begun to serve its process. */
    private boolean begun;

    private volatile boolean done;

    /**
     * A member without pages, or with those of an agent before.
     *
     * @param maps where the directories are: a later map is another object
     * @param clock monotonic nanoseconds
     * @param ended is told how it ended, once, on the shard's thread
     */
    Member(
            MemberGuest guest,
            Supplier<SpaceMap> maps,
            PagerOptions options,
            LongSupplier clock,
            Node node,
            Consumer<PagerEnd> ended) {
        this.guest = guest;
        this.clock = clock;
        this.node = node;
        flushDeadline = options.flushDeadline();
        this.ended = ended;
        memory = new MemberMemory(
                guest.uffd(), guest.file(), new GuestLayout(guest.regions(), GuestLayout.BASE_PAGE), guest.kept());
        events = new MemberEvents(memory, guest.kept().messages());
        pages = guest.kept().pages();
        homes = new MemberHomes(guest, maps, node, new MemberWriter(guest, pages, memory));
        evictions = new Evictions(pages, options.localPages(), this::evict);
        readahead = new Readahead(pages, homes, evictions, counters, options.prefetchPages());
    }

    /** Id of the space. */
    long space() {
        return guest.space();
    }

    /** Learns where the directories are, if that has changed. */
    private void follow() {
        if (!homes.follow()) {
            return;
        }
        if (isCutOff()) {
            fail("all homes of the space are lost, the space was deleted, or this node was cut off from it");
            return;
        }
        loseAwaited();
    }

    /** Pages whose home is lost are lost, too, if something waits for the home. */
    private void loseAwaited() {
        for (CoherentExtent extent : homes.extents()) {
            if (extent.lost()) {
                loseAwaited((int) extent.firstPage(), extent.pages());
            }
        }
    }

    private void loseAwaited(int first, int count) {
        for (int page = first; page < first + count; page++) {
            int state = pages.state(page);
            if (isRequested(state) && !pages.has(page, PARKED)) {
                Port port = homes.of(page);
                if (port.isRequested(page)) {
                    port.answered(page);
                }
                lose(page);
            } else if (state == SENDING || (flushing && state == MODIFIED)) {
                pages.clear(page, VICTIM | AWAITED | PARKED);
                lose(page);
            }
        }
    }

    /** A channel to a peer has opened. */
    void onOpened(MessageChannel channel) {
        homes.onOpened(channel);
    }

    void onClosed(MessageChannel channel) {
        homes.onClosed(channel);
    }

    /** Handles a message of a directory to this space. */
    void onMessage(MessageChannel channel, MemorySegment message) {
        MessageKind kind = CoherentMessage.kind(message);
        if (done
                || broken != null
                || CoherentMessage.attachment(message) != guest.id().attachment()
                || kind == null) {
            return;
        }
        Port port = homes.on(channel);
        String wrong = port == null ? null : handle(port, kind, message);
        if (port != null && wrong != null) {
            fail("node %s says %s of page %d: %s".formatted(port.home(), kind, CoherentMessage.page(message), wrong));
        }
    }

    /** Returns what is wrong with the message, null if nothing is. */
    private @Nullable String handle(Port port, MessageKind kind, MemorySegment message) {
        long session = CoherentMessage.session(message);
        if (kind == MessageKind.ADMITTED) {
            if (port.admit(session)) {
                sync(port);
            }
            return null;
        }
        if (kind == MessageKind.REFUSED) {
            return CoherentMessage.text(message);
        }
        if (!port.isOf(session)) {
            // The home will learn what became of it by what the member says in the next session.
            return null;
        }
        long at = CoherentMessage.page(message);
        if (at < 0 || at >= pages.size() || !homes.of((int) at).equals(port)) {
            return "it is not the home of the page";
        }
        int page = (int) at;
        return switch (kind) {
            case DATA_S, DATA_M, GRANT_M -> granted(port, page, kind, message);
            case INV -> invalidated(port, page);
            case RECALL -> recalled(page);
            case PUT_ACK -> confirmed(port, page);
            case LOST -> lost(port, page);
            case DECLINED -> declined(port, page);
            default -> "not a message of a directory";
        };
    }

    /** Says which pages the member has, and requests again what it waits for. */
    private void sync(Port port) {
        port.beginSync();
        port.outbox().add(MessageKind.SYNC_BEGIN, 0);
        List<CoherentExtent> extents = homes.extentsOf(port);
        for (CoherentExtent extent : extents) {
            long end = extent.firstPage() + extent.pages();
            for (long first = extent.firstPage(); first < end; first += CoherentMessage.SYNC_PAGES) {
                port.outbox().add(MessageKind.SYNC, first);
            }
        }
        port.outbox().add(MessageKind.SYNC_END, 0);
        for (CoherentExtent extent : extents) {
            repeat(port, (int) extent.firstPage(), extent.pages());
        }
    }

    private void repeat(Port port, int first, int count) {
        long now = clock.getAsLong();
        for (int page = first; page < first + count; page++) {
            // The home repeats what it has told this member.
            pages.clear(page, INVALIDATED | RECALLED);
            int state = pages.state(page);
            if (state == SENDING) {
                port.put(page);
            } else if (isAhead(page) && !pages.has(page, AWAITED)) {
                pages.clear(page, AHEAD);
                pages.setState(page, INVALID);
            } else if (!pages.has(page, PARKED)) {
                if (!port.mayRequest()) {
                    // The agent before may have been granted more pages than it had requests under way.
                    if (isRequested(state)) {
                        unrequested.add(page, state != READING, now);
                    }
                } else {
                    requestAgain(port, page, now);
                }
            }
        }
    }

    /** Whether a page was requested before a thread touched it. */
    private boolean isAhead(int page) {
        return pages.state(page) == READING && pages.has(page, AHEAD);
    }

    private static boolean isRequested(int state) {
        return state == READING || state == WRITING || state == UPGRADING;
    }

    private void requestAgain(Port port, int page, long seenAt) {
        switch (pages.state(page)) {
            case READING -> {
                pages.clear(page, AHEAD | AWAITED);
                port.request(MessageKind.GETS, 0, page, seenAt);
            }
            case WRITING -> port.request(MessageKind.GETM, 0, page, seenAt);
            case UPGRADING -> port.request(MessageKind.GETM, CoherentMessage.HAS_SHARED, page, seenAt);
            default -> {}
        }
    }

    private int serveUnrequested() {
        int work = 0;
        for (int left = unrequested.size(); left > 0; left--) {
            int page = unrequested.page();
            long seenAt = unrequested.seenAt();
            boolean isWrite = unrequested.isWrite();
            unrequested.remove();
            Port port = homes.of(page);
            if (pages.has(page, PARKED) || port.isRequested(page)) {
                continue;
            }
            if (port.mayRequest()) {
                requestAgain(port, page, seenAt);
                work++;
            } else {
                unrequested.add(page, isWrite, seenAt);
            }
        }
        return work;
    }

    private @Nullable String granted(Port port, int page, MessageKind kind, MemorySegment message) {
        int state = pages.state(page);
        int expected = switch (kind) {
            case DATA_S -> READING;
            case DATA_M -> WRITING;
            default -> UPGRADING;
        };
        if (state != expected || !port.isRequested(page)) {
            return "it was not requested";
        }
        boolean isAwaited = !isAhead(page) || pages.has(page, AWAITED);
        if (state == READING) {
            pages.clear(page, AHEAD | AWAITED);
        }
        boolean hasBytes = kind != MessageKind.GRANT_M;
        if (hasBytes && !CoherentMessage.hasPayload(message)) {
            return "it has no bytes";
        }
        long seenAt = port.answered(page);
        long arrivedAt = clock.getAsLong();
        MemorySegment bytes = hasBytes ? CoherentMessage.payload(message) : MemorySegment.NULL;
        if (flushing || !install(page, bytes)) {
            pages.set(page, PARKED);
            parked.add(page, bytes);
        } else if (hasBytes && isAwaited) {
            counters.recordFault(page, seenAt, arrivedAt, clock.getAsLong());
        }
        return null;
    }

    /** Installs a page as its state wants it; false if that has to be repeated. */
    private boolean install(int page, MemorySegment bytes) {
        int state = pages.state(page);
        if (state != READING) {
            pages.setState(page, MODIFIED);
        }
        Outcome outcome =
                state == UPGRADING ? memory.protect(page, false) : memory.install(page, bytes, state == READING);
        if (outcome != Outcome.DONE) {
            pages.setState(page, state);
            return false;
        }
        if (state == READING) {
            pages.setState(page, SHARED);
        }
        holds.granted(page, clock.getAsLong());
        peakResident = Math.max(peakResident, pages.held());
        return true;
    }

    private @Nullable String invalidated(Port port, int page) {
        int state = pages.state(page);
        boolean isParked = pages.has(page, PARKED) && state != SENDING;
        if (state == MODIFIED || (isParked && state != READING)) {
            return "no other member can have it shared";
        }
        long now = clock.getAsLong();
        long due = state == SHARED ? holds.requested(page, now) : now;
        if (isParked || due - now > 0) {
            pages.set(page, INVALIDATED);
            deferred.add(page, due);
        } else {
            invalidate(port, page);
        }
        return null;
    }

    /** Gives a page up, if the member has it: it may have evicted it without notice, and requested it again. */
    private void invalidate(Port port, int page) {
        switch (pages.state(page)) {
            case SHARED -> discard(page);
            case UPGRADING -> {
                memory.punch(page);
                pages.setState(page, WRITING);
            }
            case SENDING -> {
                // The home has the page: it was recalled.
                port.confirmed();
                discard(page);
            }
            default -> {}
        }
        port.invalidated(page);
    }

    /** Takes a page out of the memory, and wakes a thread that waits for something else about it. */
    private void discard(int page) {
        memory.punch(page);
        pages.setState(page, INVALID);
        wakeAwaiting(page);
        pages.clear(page, VICTIM | PARKED);
    }

    private void wakeAwaiting(int page) {
        if (pages.has(page, AWAITED)) {
            pages.clear(page, AWAITED);
            memory.wake(page);
        }
    }

    private @Nullable String recalled(int page) {
        switch (pages.state(page)) {
            case MODIFIED -> {
                long due = holds.requested(page, clock.getAsLong());
                if (due - clock.getAsLong() > 0 || !sendBack(page)) {
                    deferRecall(page, due);
                }
            }
            case WRITING, UPGRADING -> {
                if (!pages.has(page, PARKED)) {
                    return "this member does not have it for itself";
                }
                deferRecall(page, clock.getAsLong());
            }
            case SENDING -> {
                // It is on its way.
            }
            default -> {
                return "this member does not have it for itself";
            }
        }
        return null;
    }

    private void deferRecall(int page, long due) {
        pages.set(page, RECALLED);
        deferred.add(page, due);
    }

    /** Protects a page and sends it to its home; false if that has to be repeated. */
    private boolean sendBack(int page) {
        if (!flushing && memory.protect(page, true) != Outcome.DONE) {
            return false;
        }
        pages.setState(page, SENDING);
        counters.writtenBack().add(1);
        homes.of(page).put(page);
        return true;
    }

    private @Nullable String confirmed(Port port, int page) {
        if (pages.state(page) != SENDING) {
            return "it was not sent";
        }
        port.confirmed();
        if (pages.has(page, VICTIM)) {
            counters.evictions().add(1);
            discard(page);
        } else {
            pages.setState(page, SHARED);
            wakeAwaiting(page);
        }
        return null;
    }

    private @Nullable String lost(Port port, int page) {
        int state = pages.state(page);
        if ((state != READING && state != WRITING) || !port.isRequested(page)) {
            return "this member has it, or has not requested it";
        }
        port.answered(page);
        lose(page);
        return null;
    }

    /** A page that may be read soon is another member's: it is requested once a thread wants it. */
    private @Nullable String declined(Port port, int page) {
        if (!isAhead(page) || !port.isRequested(page)) {
            return "it was not requested if it is free";
        }
        long seenAt = port.answered(page);
        if (pages.has(page, AWAITED) && !flushing) {
            requestAgain(port, page, seenAt);
        } else {
            pages.clear(page, AHEAD | AWAITED);
            pages.setState(page, INVALID);
        }
        return null;
    }

    private void lose(int page) {
        if (pages.isResident(page)) {
            memory.punch(page);
        }
        pages.setState(page, LOST);
        counters.lost().add(1);
        log.error("space {}: page {} is lost; threads that touch it get SIGBUS", guest.name(), page);
        unpoisoned.add(page, false, 0);
    }

    /** A thread waits for a page. */
    private void fault(int page, boolean isWrite, long seenAt) {
        if (broken != null) {
            unpoisoned.add(page, false, 0);
            return;
        }
        switch (pages.state(page)) {
            case INVALID -> {
                counters.fetched().add(1);
                await(page, isWrite, seenAt);
            }
            case SHARED -> {
                if (isWrite) {
                    counters.writeProtect().add(1);
                    await(page, true, seenAt);
                } else {
                    again(page);
                }
            }
            case MODIFIED -> {
                if (isWrite) {
                    allowStores(page, seenAt);
                } else {
                    again(page);
                }
            }
            case SENDING -> {
                counters.repeated().add(1);
                if (isWrite) {
                    pages.set(page, AWAITED);
                } else {
                    memory.wake(page);
                }
            }
            case LOST -> unpoisoned.add(page, false, 0);
            case READING -> {
                counters.repeated().add(1);
                if (pages.has(page, AHEAD)) {
                    pages.set(page, AWAITED);
                }
            }
            default -> counters.repeated().add(1);
        }
    }

    /** The page may still be protected, if the agent before was killed at that moment. */
    private void allowStores(int page, long seenAt) {
        counters.repeated().add(1);
        if (memory.protect(page, false) == Outcome.AGAIN) {
            waiting.add(page, true, seenAt);
        }
    }

    private void again(int page) {
        counters.repeated().add(1);
        memory.wake(page);
    }

    private void await(int page, boolean isWrite, long seenAt) {
        if (!waiting.isEmpty() || !request(page, isWrite, seenAt)) {
            counters.waits().add(1);
            waiting.add(page, isWrite, seenAt);
        }
    }

    /** Requests a page for a thread; false if that has to be repeated. */
    private boolean request(int page, boolean isWrite, long seenAt) {
        Port port = homes.of(page);
        switch (pages.state(page)) {
            case INVALID -> {
                if (homes.isLost(page)) {
                    lose(page);
                    return true;
                }
                if (!port.mayRequest() || !evictions.hasRoom()) {
                    return false;
                }
                pages.setState(page, isWrite ? WRITING : READING);
                port.request(isWrite ? MessageKind.GETM : MessageKind.GETS, 0, page, seenAt);
                if (!isWrite) {
                    readahead.follow(page, seenAt);
                }
            }
            case SHARED -> {
                if (!isWrite) {
                    memory.wake(page);
                    return true;
                }
                if (homes.isLost(page)) {
                    lose(page);
                    return true;
                }
                if (!port.mayRequest()) {
                    return false;
                }
                pages.setState(page, UPGRADING);
                port.request(MessageKind.GETM, CoherentMessage.HAS_SHARED, page, seenAt);
            }
            default -> fault(page, isWrite, seenAt);
        }
        return true;
    }

    /** Evicts a page; false if that is not possible now. */
    private boolean evict(int page) {
        if (pages.has(page, INVALIDATED | RECALLED) || holds.isFresh(page, clock.getAsLong())) {
            return false;
        }
        if (pages.state(page) == SHARED) {
            counters.evictions().add(1);
            discard(page);
            return true;
        }
        if (pages.state(page) != MODIFIED || !homes.of(page).mayEvict() || !sendBack(page)) {
            return false;
        }
        pages.set(page, VICTIM);
        return true;
    }

    @Override
    public int doUrgentWork() {
        isServed = true;
        return done ? homes.send() : serve();
    }

    @Override
    public int doWork() {
        if (done) {
            return homes.send();
        }
        int work = isServed ? 0 : serve();
        isServed = false;
        int evicted = broken == null ? evictions.doWork(waiting.size()) : 0;
        quiet = evicted == 0
                && events.isDrained()
                && waiting.isEmpty()
                && unrequested.isEmpty()
                && !memory.isGone()
                && (broken != null || memory.failure() == null);
        return work + evicted + end() + homes.send();
    }

    /** Takes up what the agent before has left. */
    private void begin() {
        begun = true;
        if (!guest.kept().isAdopted()) {
            return;
        }
        events.resume();
        guest.kept().fault().ifPresent(memory::fail);
        for (int page = 0; page < pages.size(); page++) {
            if (pages.state(page) == LOST) {
                unpoisoned.add(page, false, 0);
            }
        }
        memory.wakeAll(guest.regions());
    }

    private int serve() {
        if (!begun) {
            begin();
        }
        follow();
        String failure = memory.failure();
        if (broken == null && failure != null) {
            fail(failure);
        }
        int work = memory.isGone() || isIdle ? 0 : events.read(this::fault, clock.getAsLong());
        isIdle = false;
        work += poison();
        if (broken == null) {
            work += installParked() + serveDeferred() + serveUnrequested() + serveWaiting();
        }
        return work + homes.send();
    }

    private int poison() {
        int work = 0;
        for (int left = unpoisoned.size(); left > 0; left--) {
            if (memory.poison(unpoisoned.page()) == Outcome.AGAIN) {
                return work;
            }
            unpoisoned.remove();
            work++;
        }
        return work;
    }

    private int installParked() {
        int work = 0;
        for (int left = flushing ? 0 : parked.size(); left > 0; left--) {
            ParkedPages.Parked one = parked.take();
            if (install(one.page(), one.bytes())) {
                pages.clear(one.page(), PARKED);
                work++;
            } else {
                parked.add(one);
            }
        }
        return work;
    }

    /** Gives up the pages that the homes want, when their time has come. */
    private int serveDeferred() {
        int work = 0;
        long now = clock.getAsLong();
        for (int left = deferred.size(); left > 0; left--) {
            int page = deferred.page();
            long due = deferred.due();
            deferred.remove();
            boolean isDue = due - now <= 0 && !pages.has(page, PARKED) && !holds.isFresh(page, now);
            boolean isDone = isDue && comply(page);
            if (isDone) {
                work++;
            } else {
                deferred.add(page, due);
            }
        }
        return work;
    }

    /** Does what the home wants of a page; false if that has to be repeated. */
    private boolean comply(int page) {
        if (pages.has(page, RECALLED) && pages.state(page) == MODIFIED && !sendBack(page)) {
            return false;
        }
        if (pages.has(page, INVALIDATED)) {
            invalidate(homes.of(page), page);
        }
        pages.clear(page, INVALIDATED | RECALLED);
        return true;
    }

    private int serveWaiting() {
        int work = 0;
        for (int left = waiting.size(); left > 0; left--) {
            int page = waiting.page();
            boolean isWrite = waiting.isWrite();
            long seenAt = waiting.seenAt();
            waiting.remove();
            if (request(page, isWrite, seenAt)) {
                work++;
            } else {
                waiting.add(page, isWrite, seenAt);
            }
        }
        return work;
    }

    /** Ends the membership: what the process has can no longer be coherent. */
    @Override
    public void fail(String why) {
        if (done || broken != null) {
            return;
        }
        guest.kept().markBroken();
        broken = why;
        log.error(
                "space {}: this node is no longer a member: {}; the process gets SIGBUS wherever it touches the"
                        + " memory, and what it alone has changed is lost",
                guest.name(),
                why);
        for (int page = 0; page < pages.size(); page++) {
            if (pages.isResident(page)) {
                memory.punch(page);
            }
            pages.clear(page, INVALIDATED | RECALLED | PARKED | VICTIM | AWAITED);
            if (pages.state(page) != INVALID) {
                pages.setState(page, INVALID);
                // Threads may wait for it.
                unpoisoned.add(page, false, 0);
            }
        }
        while (!waiting.isEmpty()) {
            unpoisoned.add(waiting.page(), false, 0);
            waiting.remove();
        }
        while (!unrequested.isEmpty()) {
            unrequested.remove();
        }
        parked.clear();
        deferred.clear();
        homes.close();
    }

    /** Goes on with the end, if the process has ended. Returns the amount of work. */
    private int end() {
        if (!memory.isGone()) {
            return 0;
        }
        String why = "its VMM has ended";
        String failure = broken;
        if (failure != null) {
            finish(new PagerEnd(why + "; " + failure, false));
            return 1;
        }
        if (!flushing) {
            flushing = true;
            flushUntil = clock.getAsLong() + flushDeadline.toNanos();
            while (!waiting.isEmpty()) {
                waiting.remove();
            }
        }
        int work = flush();
        loseAwaited();
        if (memory.failure() != null) {
            finish(new PagerEnd(why + "; " + memory.failure(), false));
        } else if (isHome() && deferred.isEmpty()) {
            finish(
                    homes.isAnyLost()
                            ? new PagerEnd(why + "; a home of its pages is lost", false)
                            : new PagerEnd(why, true));
        } else if (clock.getAsLong() - flushUntil > 0) {
            finish(new PagerEnd(why + "; a home did not take its pages within guest.flush_deadline", false));
        }
        return work;
    }

    /** Sends some of the pages home that no other member has. */
    private int flush() {
        int work = parked.size();
        while (!parked.isEmpty()) {
            giveBack(parked.take().page());
        }
        for (int i = 0; i < FLUSH_SWEEP && pages.count(MODIFIED) > 0; i++) {
            int page = flushHand;
            flushHand = flushHand + 1 == pages.size() ? 0 : flushHand + 1;
            if (pages.state(page) == MODIFIED && homes.of(page).mayEvict() && sendBack(page)) {
                work++;
            }
        }
        return work;
    }

    /** Gives back a page that was granted and never installed. */
    private void giveBack(int page) {
        switch (pages.state(page)) {
            case READING -> {
                pages.clear(page, PARKED);
                pages.setState(page, INVALID);
            }
            case UPGRADING -> {
                pages.clear(page, PARKED);
                pages.setState(page, MODIFIED);
            }
            default -> {
                // It stays parked: the file does not have its bytes, and the home has them.
                pages.set(page, VICTIM);
                pages.setState(page, SENDING);
                homes.of(page).put(page);
            }
        }
    }

    /** Whether the homes have all pages. */
    private boolean isHome() {
        return pages.count(INVALID) + pages.count(SHARED) + pages.count(LOST) == pages.size();
    }

    private void finish(PagerEnd how) {
        if (how.saved()) {
            guest.kept().markLeft();
            homes.leave();
            homes.send();
        }
        done = true;
        ended.accept(how);
    }

    @Override
    public boolean isCutOff() {
        return homes.areLost();
    }

    @Override
    public void close() {
        node.closed(this);
    }

    @Override
    public void count(PageCensus census) {
        for (int page = 0; page < pages.size(); page++) {
            census.add(
                    page,
                    switch (pages.state(page)) {
                        case SHARED, UPGRADING -> Where.RESIDENT;
                        case MODIFIED, SENDING -> Where.DIRTY;
                        case LOST -> Where.LOST;
                        default -> Where.REMOTE;
                    });
        }
    }

    /** Why every access gets SIGBUS; null while the memory is coherent. */
    @Nullable
    String failure() {
        return broken;
    }

    @Override
    public void probe() {
        memory.probe();
    }

    @Override
    public void resize(int limit) {
        evictions.resize(limit);
    }

    @Override
    public PagerCounters counters() {
        return counters;
    }

    @Override
    public PagerStatus status() {
        int modified = pages.count(MODIFIED) + pages.count(SENDING);
        int resident = modified + pages.count(SHARED) + pages.count(UPGRADING);
        return new PagerStatus(
                pages.size(),
                GuestLayout.BASE_PAGE,
                resident,
                peakResident,
                evictions.limit(),
                pages.size() - resident - pages.count(LOST),
                0,
                modified,
                pages.count(LOST),
                0,
                counters.evictions().get(),
                counters.writtenBack().get(),
                0,
                0,
                0,
                0);
    }

    @Override
    public boolean failed(Throwable cause) {
        if (done || broken != null) {
            return false;
        }
        fail("its member threw " + cause);
        return true;
    }

    @Override
    public int fileDescriptor() {
        return done || memory.isGone() ? -1 : events.fd();
    }

    @Override
    public String toString() {
        return "member of %s: %s, %s, %d faults wait, %d requests wait, %d deferred, %d parked%s"
                .formatted(
                        guest.name(),
                        pages,
                        homes,
                        waiting.size(),
                        unrequested.size(),
                        deferred.size(),
                        parked.size(),
                        broken == null ? "" : ", broken: " + broken);
    }

    @Override
    public boolean needsPolling() {
        return !done && (!deferred.isEmpty() || !parked.isEmpty() || !unpoisoned.isEmpty() || !begun);
    }

    /** Messages of homes are handled before its work in the same duty cycle, which also sends the answers. */
    @Override
    public boolean isQuiescent() {
        return done || (quiet && !needsPolling());
    }

    @Override
    public void polled(boolean isReadable) {
        isIdle = !isReadable;
    }

    @Override
    public boolean waitsForTime() {
        return flushing && !done;
    }
}
