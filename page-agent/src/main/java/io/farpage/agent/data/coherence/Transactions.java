package io.farpage.agent.data.coherence;

import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which members have each page of a directory, and the requests for pages. Members are known by their numbers. The
 * shard's thread only.
 *
 * <p>One request for a page is answered at a time, others wait in order. A request for reading a page that has an owner
 * recalls it: the owner protects the page, sends it, and has it shared from then on. A request for writing invalidates
 * all other members that may have the page, at the same time, and is answered when the last of them has given it up.
 * Where a page has a second home, nothing is confirmed or granted that this one does not have yet.
 *
 * <p>What a member says is checked: the methods that return a text say with it why the member cannot have said so.
 */
final class Transactions {
    private static final Logger log = LoggerFactory.getLogger(Transactions.class);

    /** The members of the directory. */
    interface Members {
        /** Whether all have said which pages they have: nothing is granted before. */
        boolean areAllHeard();

        /** Whether one has said so in its present session, so that it learns of a page only what it does not know. */
        boolean isHeard(int member);

        /** Sends a message about a page to one. */
        void send(int member, MessageKind kind, int index);
    }

    private final long space;
    private final DirectoryExtents extents;
    private final DirectoryPages pages;
    private final Mirrors mirrors;
    private final Members members;
    private final RequestQueue queue = new RequestQueue();
    private final Bounces bounces = new Bounces();
    private final Traffic traffic;
    private long lost;
    private long answered;
    private long invalidations;
    private long recalls;

    Transactions(long space, DirectoryExtents extents, DirectoryPages pages, Mirrors mirrors, Members members) {
        this.space = space;
        this.extents = extents;
        this.pages = pages;
        this.mirrors = mirrors;
        this.members = members;
        traffic = new Traffic(extents);
    }

    /**
     * How many there were.
     *
     * @param waiting requests that wait for others
     * @param lost pages
     */
    record Counts(long answered, long recalls, long invalidations, int waiting, long lost) {}

    Counts counts() {
        return new Counts(answered, recalls, invalidations, queue.size(), lost);
    }

    List<Bounces.Bounce> bouncing(int most) {
        return bounces.most(most);
    }

    List<DirectoryStatus.Part> traffic() {
        return traffic.parts();
    }

    @Nullable
    String request(int member, int index, boolean write, boolean hasShared) {
        if (pages.isOwner(index, member)) {
            return "the member has it already";
        }
        if (pages.isBusy(index) || !members.areAllHeard()) {
            if (queue.size() >= DirectoryPages.MAX_MEMBERS * Member.MAX_REQUESTS) {
                return "too many requests";
            }
            queue.add(index, member, write, hasShared);
            return null;
        }
        begin(index, member, write, hasShared);
        serve(index);
        return null;
    }

    /** A member may read a page soon. No other member gives it up for that. */
    @Nullable
    String offer(int member, int index) {
        if (pages.isOwner(index, member)) {
            return "the member has it already";
        }
        if (!members.areAllHeard()
                || pages.isBusy(index)
                || pages.isExclusive(index)
                || pages.isMirroring(index)
                || pages.isLost(index)) {
            members.send(member, MessageKind.DECLINED, index);
        } else {
            begin(index, member, false, false);
        }
        return null;
    }

    private void begin(int index, int member, boolean write, boolean hasShared) {
        if (pages.isLost(index)) {
            members.send(member, MessageKind.LOST, index);
            return;
        }
        pages.begin(index, member, write, hasShared);
        if (pages.isMirroring(index)) {
            return;
        }
        if (pages.isExclusive(index)) {
            recall(index);
            return;
        }
        invalidateOthers(index);
        finish(index);
    }

    void recall(int index) {
        int owner = pages.owner(index);
        if (members.isHeard(owner)) {
            members.send(owner, MessageKind.RECALL, index);
            recalls++;
            taken(index, owner);
        }
    }

    /** If the request is for writing, requests all members but the requester to give the page up. */
    private void invalidateOthers(int index) {
        if (!pages.isForWriting(index)) {
            return;
        }
        int others = pages.members(index) & ~(1 << pages.requester(index));
        pages.awaitAll(index, others);
        for (int left = others; left != 0; left &= left - 1) {
            invalidate(index, Integer.numberOfTrailingZeros(left));
        }
    }

    void invalidate(int index, int member) {
        if (members.isHeard(member)) {
            members.send(member, MessageKind.INV, index);
            invalidations++;
            taken(index, member);
        }
    }

    private void taken(int index, int from) {
        bounces.moved(index, from, pages.requester(index));
        traffic.taken(index);
    }

    /** Answers the request for a page if nothing is missing. */
    private void finish(int index) {
        if (!pages.isBusy(index) || pages.isExclusive(index) || pages.waiting(index) != 0 || pages.isMirroring(index)) {
            return;
        }
        int requester = pages.requester(index);
        boolean isWrite = pages.isForWriting(index);
        boolean hasShared = pages.hasShared(index) && pages.has(index, requester);
        boolean isAnswered = !pages.isOrphaned(index);
        pages.end(index);
        if (!isAnswered) {
            return;
        }
        answered++;
        if (pages.isLost(index)) {
            members.send(requester, MessageKind.LOST, index);
        } else if (isWrite) {
            pages.own(index, requester);
            members.send(requester, hasShared ? MessageKind.GRANT_M : MessageKind.DATA_M, index);
        } else {
            pages.add(index, requester);
            members.send(requester, MessageKind.DATA_S, index);
        }
    }

    /** Begins to answer the next requests for a page that wait. */
    private void serve(int index) {
        while (members.areAllHeard() && !queue.isEmpty() && !pages.isBusy(index)) {
            int request = queue.take(index);
            if (request == RequestQueue.NONE) {
                return;
            }
            begin(index, RequestQueue.member(request), RequestQueue.isWrite(request), RequestQueue.hasShared(request));
        }
    }

    /** All members were heard: begins to answer what has waited for that. */
    void serveAll() {
        for (int position = 0; position < queue.size(); ) {
            int index = queue.page(position);
            if (pages.isBusy(index)) {
                position++;
            } else {
                serve(index);
                position = 0;
            }
        }
    }

    /** A member that is gone may have had any page that no other has. */
    void loseAbsentPages() {
        int count = 0;
        for (int index = 0; index < pages.count(); index++) {
            if (pages.members(index) == 0) {
                pages.lose(index);
                count++;
            }
        }
        lost += count;
        log.error(
                "space {}: a member is gone that had not told this home which pages it had: {} pages that no other"
                        + " member has are lost; threads that touch them get SIGBUS",
                space,
                count);
    }

    @Nullable
    String put(int member, int index, MemorySegment message) {
        boolean isUnchanged = CoherentMessage.isUnchanged(message);
        if (!isUnchanged && !CoherentMessage.hasPayload(message)) {
            return "it has no bytes";
        }
        if (!pages.isOwner(index, member)) {
            // What it had sent has arrived before the channel broke. The page was protected since.
            if (pages.has(index, member) && ((pages.waiting(index) >>> member) & 1) == 0) {
                members.send(member, MessageKind.PUT_ACK, index);
            }
            return null;
        }
        pages.setSent(index, true);
        if (pages.isMirroring(index)) {
            // It is the same page once more: the owner protects it until it is confirmed.
            return null;
        }
        if (isUnchanged) {
            kept(index);
            return null;
        }
        MemorySegment.copy(
                message,
                CoherentMessage.HEADER_BYTES,
                extents.frames(index),
                extents.offset(index),
                CoherentMessage.PAGE_BYTES);
        if (mirrors.has(index)) {
            pages.markMirroring(index);
            mirrors.send(index);
        } else {
            kept(index);
        }
        return null;
    }

    /** A member that is cut off may have had the newest version of a page. */
    void lose(int index, String node) {
        log.error(
                "space {}: page {} is lost with member {}; threads that touch it get SIGBUS",
                space,
                extents.page(index),
                node);
        pages.lose(index);
        lost++;
    }

    /** The member that had a page for itself has it as the frame has it. */
    void share(int index) {
        pages.share(index);
        shared(index);
    }

    /** The second home has the version that the frame has, or there is no second home. */
    void mirrored(int index) {
        pages.mirrored(index);
        kept(index);
    }

    /** All homes have what the owner of a page has sent. The owner may be gone. */
    private void kept(int index) {
        if (pages.isExclusive(index)) {
            int owner = pages.owner(index);
            pages.share(index);
            if (pages.isSent(index)) {
                members.send(owner, MessageKind.PUT_ACK, index);
            }
        }
        pages.setSent(index, false);
        shared(index);
    }

    /** The frame has the newest version of a page, and no member may write to it: goes on with the request for it. */
    private void shared(int index) {
        if (pages.isBusy(index)) {
            invalidateOthers(index);
            finish(index);
            serve(index);
        }
    }

    @Nullable
    String invalidated(int member, int index) {
        if (((pages.waiting(index) >>> member) & 1) == 0) {
            return "it was not invalidated";
        }
        gaveUp(index, member);
        return null;
    }

    void gaveUp(int index, int member) {
        pages.gaveUp(index, member);
        finish(index);
        serve(index);
    }

    /** What the member has requested is void. */
    void forget(int member) {
        queue.removeAll(member);
        for (int index = 0; index < pages.count(); index++) {
            if (pages.isBusy(index) && pages.requester(index) == member) {
                pages.orphan(index);
            }
            if (pages.isOwner(index, member)) {
                pages.setSent(index, false);
            }
        }
    }
}
