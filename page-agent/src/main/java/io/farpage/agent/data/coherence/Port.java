package io.farpage.agent.data.coherence;

import io.farpage.agent.data.shard.MessageChannel;
import org.jspecify.annotations.Nullable;

/** A member's side of the messages with one home. The shard's thread only. */
final class Port {
    private final String home;
    private final Outbox outbox;
    private @Nullable MessageChannel channel;
    private boolean synced;
    /** Number of the session that the home began last on the channel; 0 if none. */
    private long session;

    private int requests;
    private final int[] requested = new int[Member.MAX_REQUESTS];
    private final long[] seenAt = new long[Member.MAX_REQUESTS];
    private int sending;

    Port(String home, Outbox.Writer writer) {
        this.home = home;
        outbox = new Outbox(writer);
    }

    String home() {
        return home;
    }

    Outbox outbox() {
        return outbox;
    }

    /** A channel has opened: sends the home a JOIN. */
    void open(MessageChannel fresh) {
        close();
        channel = fresh;
        outbox.add(MessageKind.JOIN, 0);
    }

    /** Another session is needed, since the home has other extents now. */
    void rejoin() {
        synced = false;
        outbox.clear();
        if (channel != null) {
            outbox.add(MessageKind.JOIN, 0);
        }
    }

    void close() {
        channel = null;
        synced = false;
        session = 0;
        outbox.clear();
    }

    /** The home begins a session. Returns whether it is another one. */
    boolean admit(long number) {
        boolean isOther = number != session;
        session = number;
        return isOther;
    }

    /** Number of the session that messages belong to. */
    long session() {
        return session;
    }

    /** Whether a message belongs to the session in which the home was told which pages the member has. */
    boolean isOf(long number) {
        return synced && number == session;
    }

    boolean isOn(MessageChannel other) {
        return other.equals(channel);
    }

    /** What the member requests from now on is behind what it says it has. */
    void beginSync() {
        synced = true;
        outbox.clear();
        requests = 0;
        sending = 0;
    }

    /** Whether another page may be requested. */
    boolean mayRequest() {
        return synced && requests < Member.MAX_REQUESTS;
    }

    /** Whether a page may be requested that no thread waits for: some requests are kept for those that wait. */
    boolean mayReadAhead() {
        return synced && requests < Member.MAX_REQUESTS - Member.MAX_REQUESTS / 4;
    }

    /** @param seen when the fault was read, nanoseconds */
    void request(MessageKind kind, int flags, int page, long seen) {
        outbox.add(kind, flags, page);
        requested[requests] = page;
        seenAt[requests] = seen;
        requests++;
    }

    /** Whether a page was requested on this channel, and not answered yet. */
    boolean isRequested(int page) {
        for (int i = 0; i < requests; i++) {
            if (requested[i] == page) {
                return true;
            }
        }
        return false;
    }

    /** A request is answered. Returns when its fault was read. */
    long answered(int page) {
        int index = 0;
        while (requested[index] != page) {
            index++;
        }
        requests--;
        long seen = seenAt[index];
        requested[index] = requested[requests];
        seenAt[index] = seenAt[requests];
        return seen;
    }

    /** Whether another page may be sent to be evicted. */
    boolean mayEvict() {
        return synced && sending < Member.MAX_REQUESTS;
    }

    /** Sends a page home: now, or when the home has been told which pages the member has. */
    void put(int page) {
        if (synced) {
            outbox.add(MessageKind.PUT, page);
            sending++;
        }
    }

    /** The member does not have a page. The home is told now, or with all other pages. */
    void invalidated(int page) {
        if (synced) {
            outbox.add(MessageKind.INV_ACK, page);
        }
    }

    /** The home has a page that was sent. */
    void confirmed() {
        sending--;
        assert sending >= 0 : home;
    }

    /** The member has no page from now on. */
    void leave() {
        if (synced) {
            outbox.add(MessageKind.LEFT, 0);
        }
    }

    @Override
    public String toString() {
        return "%s: session %d%s, %d requested, %d sent"
                .formatted(home, session, synced ? "" : " to come", requests, sending);
    }

    int send() {
        MessageChannel to = channel;
        return to == null ? 0 : outbox.send(to);
    }
}
