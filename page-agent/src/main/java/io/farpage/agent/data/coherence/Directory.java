package io.farpage.agent.data.coherence;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.farpage.agent.data.pager.page.OffHeap;
import io.farpage.agent.data.pager.page.PageTableException;
import io.farpage.agent.data.shard.MessageChannel;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The directory of those extents of one coherent space whose first home is this node: its sessions with the members.
 * For each page at most one member may write, and then no other has it (MSI, by invalidation). The frames have the
 * newest version of a page that no member may write to. The shard's thread only.
 *
 * <p>Messages between a member and a directory arrive in order, and all of a channel that breaks may be lost. A member
 * begins each session by saying which pages it has; what it had requested before is void.
 */
final class Directory {
    private static final Logger log = LoggerFactory.getLogger(Directory.class);

    /** How many pages a status names. */
    private static final int MOST_BOUNCING = 8;

    private final long space;
    private final DirectoryExtents extents;
    private final DirectoryPages pages;
    private final Mirrors mirrors;
    private final LongSupplier numbers;
    private final Transactions transactions;
    private final @Nullable Session[] sessions = new Session[DirectoryPages.MAX_MEMBERS];
    /** Members that have not said yet which pages they have; nothing is granted before all have. */
    private int unheard;
    /**
     * Whether the newest version of any page may have been lost with a member that had not said which pages it had.
     */
    private boolean doubtful;
    /** Whether a member has ended without sending its pages home. */
    private boolean torn;

    /** A member, and the channel to it while there is one. */
    private final class Session {
        final MemberId id;
        final int number;
        final Outbox outbox = new Outbox(this::write);

        @Nullable
        MessageChannel channel;
        /** Each message that is not of this session is void. */
        long session;
        /** Whether the member has begun to say in this session which pages it has. */
        boolean heard;
        /** Whether it has said in this session which pages it has. */
        boolean synced;
        /** What it says, while it does so: for each page one of the values of a SYNC. */
        @Nullable
        MemorySegment held;
        /** Why it is not answered; null if it is. */
        @Nullable
        String refusal;

        Session(MemberId id, int number) {
            this.id = id;
            this.number = number;
        }

        @Override
        public String toString() {
            return "%s: session %d%s%s"
                    .formatted(
                            id.node(),
                            session,
                            synced ? "" : held == null ? " to come" : " begins",
                            ((unheard >>> number) & 1) == 0 ? "" : ", not heard");
        }

        private int write(MemorySegment to, MessageKind kind, int flags, long page) {
            CoherentMessage.write(to, kind, flags, space, id.attachment(), session, page);
            String why = refusal;
            if (kind == MessageKind.REFUSED && why != null) {
                return CoherentMessage.text(to, why);
            }
            if (kind != MessageKind.DATA_S && kind != MessageKind.DATA_M) {
                return CoherentMessage.HEADER_BYTES;
            }
            int index = index(page);
            MemorySegment.copy(
                    extents.frames(index),
                    extents.offset(index),
                    to,
                    CoherentMessage.HEADER_BYTES,
                    CoherentMessage.PAGE_BYTES);
            return CoherentMessage.PAGE_MESSAGE_BYTES;
        }
    }

    /**
     * @param space id of the space
     * @param extents by their first pages
     * @param torn whether a member has ended without sending its pages home, which it may have had from an earlier
     *     directory
     * @param numbers of sessions, none of them used before by this node
     * @throws PageTableException if the host has no memory for it
     */
    Directory(long space, List<DirectoryExtents.Extent> extents, boolean torn, LongSupplier numbers) {
        this.space = space;
        this.numbers = numbers;
        this.torn = torn;
        doubtful = torn;
        this.extents = new DirectoryExtents(extents);
        pages = new DirectoryPages(this.extents.pages());
        mirrors = new Mirrors(space, this.extents, pages);
        transactions = new Transactions(space, this.extents, pages, mirrors, new Members());
    }

    /** The members, by their numbers. */
    private final class Members implements Transactions.Members {
        @Override
        public boolean areAllHeard() {
            return unheard == 0;
        }

        @Override
        public boolean isHeard(int member) {
            return session(member).synced;
        }

        @Override
        public void send(int member, MessageKind kind, int index) {
            session(member).outbox.add(kind, page(index));
        }
    }

    /**
     * Replaces the second homes. What one has not confirmed that no longer is one counts as confirmed.
     *
     * @param nodes by extent
     * @param channels that are open
     */
    void setSecondHomes(List<Optional<String>> nodes, Iterable<? extends MessageChannel> channels) {
        boolean isAnyGone = mirrors.set(nodes, channels);
        for (int index = 0; isAnyGone && index < pages.count(); index++) {
            if (pages.isMirroring(index) && !mirrors.has(index)) {
                transactions.mirrored(index);
            }
        }
    }

    long space() {
        return space;
    }

    /** Whether all members have said which pages they have. */
    boolean isComplete() {
        return unheard == 0;
    }

    /** Whether a member has, or was granted, a page for itself. */
    boolean isOwner(MemberId member, long page) {
        int index = index(page);
        return index != DirectoryExtents.ELSEWHERE
                && pages.isExclusive(index)
                && session(pages.owner(index)).id.equals(member);
    }

    DirectoryStatus status() {
        List<DirectoryStatus.MemberStatus> members = Arrays.stream(sessions)
                .filter(Objects::nonNull)
                .map(session -> new DirectoryStatus.MemberStatus(session.id.node(), session.synced))
                .toList();
        List<DirectoryStatus.Bouncing> bouncing = transactions.bouncing(MOST_BOUNCING).stream()
                .map(one ->
                        new DirectoryStatus.Bouncing(page(one.page()), one.moves(), node(one.from()), node(one.to())))
                .toList();
        Transactions.Counts counts = transactions.counts();
        return new DirectoryStatus(
                space,
                pages.count(),
                members,
                counts.answered(),
                counts.recalls(),
                counts.invalidations(),
                counts.waiting(),
                counts.lost(),
                bouncing,
                transactions.traffic());
    }

    private String node(int number) {
        Session session = sessions[number];
        return session == null ? "a former member" : session.id.node();
    }

    private int index(long page) {
        return extents.index(page);
    }

    private long page(int index) {
        return extents.page(index);
    }

    /**
     * Replaces the members. Pages that a member has had for itself, and that is no longer one, are lost. A later
     * incarnation of the same node with the same attachment has the pages of the former one.
     *
     * @param isTorn whether a member has ended without sending its pages home
     * @param isFirst whether the members may have pages already
     * @param channels that are open
     */
    void setMembers(Set<MemberId> now, boolean isTorn, boolean isFirst, Iterable<? extends MessageChannel> channels) {
        torn = isTorn;
        for (Session session : sessions) {
            if (session != null && !now.contains(session.id)) {
                Optional<MemberId> heir =
                        now.stream().filter(session.id::isSucceededBy).findFirst();
                if (heir.isPresent()) {
                    succeed(session, heir.get(), channels);
                } else {
                    expel(session);
                }
            }
        }
        for (MemberId id : now) {
            if (Arrays.stream(sessions).noneMatch(session -> session != null && session.id.equals(id))) {
                admit(id, isFirst, channels);
            }
        }
        serveAll();
    }

    private void admit(MemberId id, boolean isFirst, Iterable<? extends MessageChannel> channels) {
        for (int number = 0; number < sessions.length; number++) {
            if (sessions[number] == null) {
                Session session = new Session(id, number);
                sessions[number] = session;
                unheard |= isFirst ? 1 << number : 0;
                welcome(session, channels);
                return;
            }
        }
        log.error("space {}: {} is one more than {} members; it is not served", space, id, sessions.length);
    }

    /**
     * An agent was killed, and its successor has the pages. It says which, when it has them; until then no other member
     * gets one of them, and the agent before is not heard.
     */
    private void succeed(Session session, MemberId heir, Iterable<? extends MessageChannel> channels) {
        close(session);
        Session next = new Session(heir, session.number);
        next.refusal = session.refusal;
        sessions[session.number] = next;
        welcome(next, channels);
    }

    private void expel(Session session) {
        close(session);
        sessions[session.number] = null;
        if (((unheard >>> session.number) & 1) != 0) {
            unheard &= ~(1 << session.number);
            doubtful |= torn;
        }
        for (int index = 0; index < pages.count(); index++) {
            if (pages.isOwner(index, session.number) && !pages.isMirroring(index)) {
                transactions.lose(index, session.id.node());
            }
            if (pages.has(index, session.number)) {
                transactions.gaveUp(index, session.number);
            }
        }
    }

    private @Nullable Session find(MessageChannel channel, long attachment) {
        for (Session session : sessions) {
            if (session != null && session.id.attachment() == attachment && isOf(channel, session)) {
                return session;
            }
        }
        return null;
    }

    /** A channel to a node has opened. */
    void onOpened(MessageChannel channel) {
        mirrors.onOpened(channel);
        for (Session session : sessions) {
            if (session != null && isOf(channel, session)) {
                welcome(session, channel);
            }
        }
    }

    private void welcome(Session session, Iterable<? extends MessageChannel> channels) {
        for (MessageChannel channel : channels) {
            if (isOf(channel, session)) {
                welcome(session, channel);
            }
        }
    }

    private void welcome(Session session, MessageChannel channel) {
        close(session);
        session.channel = channel;
        session.session = numbers.getAsLong();
        session.outbox.add(session.refusal == null ? MessageKind.ADMITTED : MessageKind.REFUSED, 0);
    }

    /** The member has begun, or has another map of the homes. */
    private void join(Session session, MessageChannel channel) {
        if (channel.equals(session.channel) && !session.heard) {
            // The first word of this session may have come before the member could receive it.
            session.outbox.add(session.refusal == null ? MessageKind.ADMITTED : MessageKind.REFUSED, 0);
        } else {
            welcome(session, channel);
        }
    }

    private static boolean isOf(MessageChannel channel, Session session) {
        return session.id.incarnation() == channel.incarnation()
                && session.id.node().equals(channel.peer());
    }

    /** The channel is gone. */
    void onClosed(MessageChannel channel) {
        mirrors.onClosed(channel);
        for (Session session : sessions) {
            if (session != null && channel.equals(session.channel)) {
                close(session);
            }
        }
    }

    private void close(Session session) {
        session.channel = null;
        session.synced = false;
        session.heard = false;
        session.held = null;
        session.outbox.clear();
        transactions.forget(session.number);
    }

    /** Handles a message of a member or of a second home. */
    void onMessage(MessageChannel channel, MemorySegment message) {
        MessageKind kind = CoherentMessage.kind(message);
        if (kind == MessageKind.MIRROR_READY) {
            mirrors.onReady(channel, CoherentMessage.session(message));
        } else if (kind == MessageKind.MIRROR_ACK) {
            onMirrored(channel, CoherentMessage.session(message), CoherentMessage.page(message));
        } else {
            onMemberMessage(channel, message);
        }
    }

    private void onMirrored(MessageChannel channel, long session, long page) {
        int index = index(page);
        if (index != DirectoryExtents.ELSEWHERE
                && mirrors.confirms(channel, session, index)
                && pages.isMirroring(index)) {
            transactions.mirrored(index);
        }
    }

    private void onMemberMessage(MessageChannel channel, MemorySegment message) {
        Session session = find(channel, CoherentMessage.attachment(message));
        MessageKind kind = CoherentMessage.kind(message);
        if (session == null || kind == null) {
            // The attachment has ended, or this node does not know it yet, and will welcome the member then.
            return;
        }
        if (kind == MessageKind.JOIN) {
            join(session, channel);
            return;
        }
        if (!channel.equals(session.channel) || CoherentMessage.session(message) != session.session) {
            return;
        }
        String wrong = handle(session, kind, message);
        if (wrong != null) {
            refuse(session, "%s of page %d: %s".formatted(kind, CoherentMessage.page(message), wrong));
        }
    }

    private void refuse(Session session, String why) {
        log.error("space {}: member {} is not answered: {}", space, session.id.node(), why);
        MessageChannel channel = session.channel;
        long number = session.session;
        close(session);
        session.channel = channel;
        session.session = number;
        session.refusal = why;
        session.outbox.add(MessageKind.REFUSED, 0);
    }

    /** Returns what is wrong with the message, null if nothing is. */
    private @Nullable String handle(Session session, MessageKind kind, MemorySegment message) {
        if (session.refusal != null) {
            return null;
        }
        if (kind == MessageKind.SYNC_BEGIN) {
            return beginSync(session);
        }
        if (kind == MessageKind.SYNC) {
            return hold(session, message);
        }
        if (kind == MessageKind.SYNC_END) {
            return synced(session, CoherentMessage.layout(message));
        }
        if (!session.synced) {
            // With another map of the homes the member does not know that it was not heard.
            return session.held == null ? null : "before the member has said which pages it has";
        }
        if (kind == MessageKind.LEFT) {
            return left(session);
        }
        int index = index(CoherentMessage.page(message));
        if (index == DirectoryExtents.ELSEWHERE) {
            return "this node is not its home";
        }
        return switch (kind) {
            case GETS ->
                CoherentMessage.isIfFree(message)
                        ? transactions.offer(session.number, index)
                        : transactions.request(session.number, index, false, false);
            case GETM -> transactions.request(session.number, index, true, CoherentMessage.hasShared(message));
            case PUT -> transactions.put(session.number, index, message);
            case INV_ACK -> transactions.invalidated(session.number, index);
            default -> "not a message of a member";
        };
    }

    private Session session(int number) {
        Session session = sessions[number];
        assert session != null : number;
        return session;
    }

    /** Begins to answer what has waited until all members were heard. */
    private void serveAll() {
        if (unheard != 0) {
            return;
        }
        if (doubtful) {
            doubtful = false;
            transactions.loseAbsentPages();
        }
        transactions.serveAll();
    }

    /** The member has ended and has sent its pages home; its attachment ends soon. */
    private @Nullable String left(Session session) {
        close(session);
        for (int index = 0; index < pages.count(); index++) {
            if (pages.isOwner(index, session.number)) {
                return "it has not sent page %d".formatted(page(index));
            }
            if (pages.has(index, session.number)) {
                transactions.gaveUp(index, session.number);
            }
        }
        return null;
    }

    private @Nullable String beginSync(Session session) {
        if (session.synced || session.held != null) {
            return "the member has said in this session already which pages it has";
        }
        session.heard = true;
        session.held = OffHeap.allocate(pages.count());
        return null;
    }

    private @Nullable String hold(Session session, MemorySegment message) {
        MemorySegment held = session.held;
        if (held == null || !CoherentMessage.hasPayload(message)) {
            return "not after SYNC_BEGIN, or without bytes";
        }
        long first = CoherentMessage.page(message);
        for (int i = 0; i < CoherentMessage.SYNC_PAGES; i++) {
            int what = CoherentMessage.held(message, i);
            if (what != CoherentMessage.ABSENT) {
                int index = index(first + i);
                if (index != DirectoryExtents.ELSEWHERE) {
                    held.set(JAVA_BYTE, index, (byte) what);
                }
            }
        }
        return null;
    }

    /**
     * The member has said which pages it has. If it has another map of the homes than this node, one of the two gets
     * the other one later, and begins another session.
     *
     * @param layout of the extents whose pages it has named
     */
    private @Nullable String synced(Session session, long layout) {
        MemorySegment held = session.held;
        if (held == null) {
            return "not after SYNC_BEGIN";
        }
        session.held = null;
        if (layout != extents.layout()) {
            return null;
        }
        for (int index = 0; index < pages.count(); index++) {
            if (!mayHold(session, index, held.get(JAVA_BYTE, index))) {
                return "it cannot have page %d".formatted(page(index));
            }
        }
        session.synced = true;
        unheard &= ~(1 << session.number);
        for (int index = 0; index < pages.count(); index++) {
            reconcile(session, index, held.get(JAVA_BYTE, index));
        }
        serveAll();
        return null;
    }

    /** Whether a member may have a page in the way that it says. */
    private boolean mayHold(Session session, int index, int what) {
        boolean isHeard = ((unheard >>> session.number) & 1) == 0;
        int number = session.number;
        return switch (what) {
            case CoherentMessage.ABSENT -> true;
            case CoherentMessage.SHARED ->
                isHeard ? pages.has(index, number) : !pages.isExclusive(index) || pages.isSending(index);
            case CoherentMessage.MODIFIED -> isHeard ? pages.isOwner(index, number) : pages.members(index) == 0;
            default -> isHeard ? pages.has(index, number) : !pages.isExclusive(index);
        };
    }

    private void reconcile(Session session, int index, int what) {
        int number = session.number;
        if (what == CoherentMessage.ABSENT) {
            // A page that it was granted and has not received is in the frame.
            if (pages.has(index, number)) {
                transactions.gaveUp(index, number);
            }
            return;
        }
        if (!pages.has(index, number)) {
            learn(index, number, what);
        } else if (what == CoherentMessage.SHARED && pages.isOwner(index, number)) {
            transactions.share(index);
            return;
        }
        // What it was told on an earlier channel may be lost.
        if (pages.isBusy(index) && pages.isOwner(index, number)) {
            transactions.recall(index);
        } else if (((pages.waiting(index) >>> number) & 1) != 0) {
            transactions.invalidate(index, number);
        }
    }

    /** A member has a page, and this directory is new. */
    private void learn(int index, int number, int what) {
        if (what == CoherentMessage.SHARED) {
            // If another member still sends the page, the former directory had it already, since it has shared it.
            pages.share(index);
        }
        boolean isOnly = pages.members(index) == 0;
        if (what != CoherentMessage.SHARED && isOnly) {
            pages.own(index, number);
            if (what == CoherentMessage.SENDING) {
                pages.markSending(index);
            }
        } else {
            pages.add(index, number);
        }
    }

    @Override
    public String toString() {
        return "directory of %d: %s, %s, %d requests wait%s, second homes %s"
                .formatted(
                        space,
                        pages,
                        Arrays.stream(sessions).filter(Objects::nonNull).toList(),
                        transactions.counts().waiting(),
                        doubtful ? ", doubtful" : "",
                        mirrors);
    }

    /** Sends what may be sent. Returns how many messages. */
    int send() {
        return mirrors.send() + send(false) + send(true);
    }

    /** @param confirms whether to send to members that wait for nothing but to hear that a page of theirs has come */
    private int send(boolean confirms) {
        int sent = 0;
        for (Session session : sessions) {
            MessageChannel channel = session == null ? null : session.channel;
            if (session != null && channel != null && session.outbox.beginsWith(MessageKind.PUT_ACK) == confirms) {
                sent += session.outbox.send(channel);
            }
        }
        return sent;
    }
}
