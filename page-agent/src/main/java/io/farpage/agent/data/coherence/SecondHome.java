package io.farpage.agent.data.coherence;

import io.farpage.agent.data.shard.MessageChannel;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The frames of those extents of a space that have this node as their second home. Directories on other nodes send each
 * page that they get, and grant it to a member only when it was confirmed here. The shard's thread only.
 */
final class SecondHome {
    private final long space;
    private final MemorySegment exported;
    private final LongSupplier numbers;
    private List<HostedExtent> extents = List.of();
    private final List<Session> sessions = new ArrayList<>();

    /** The channel to the directory of some of the extents. */
    private final class Session {
        final MessageChannel channel;
        final Outbox outbox = new Outbox(this::write);
        long number;

        Session(MessageChannel channel) {
            this.channel = channel;
        }

        private int write(MemorySegment to, MessageKind kind, int flags, long page) {
            CoherentMessage.write(to, kind, flags, space, 0, number, page);
            return CoherentMessage.HEADER_BYTES;
        }

        @Override
        public String toString() {
            return "%s: session %d".formatted(channel.peer(), number);
        }

        void begin() {
            number = numbers.getAsLong();
            outbox.clear();
            outbox.add(MessageKind.MIRROR_READY, 0);
        }
    }

    /**
     * @param exported frames of the pool
     * @param numbers of sessions, none of them used before
     */
    SecondHome(long space, MemorySegment exported, LongSupplier numbers) {
        this.space = space;
        this.exported = exported;
        this.numbers = numbers;
    }

    /**
     * Replaces the extents.
     *
     * @param now of this space, with their directories on other nodes
     * @param channels that are open
     */
    void set(List<HostedExtent> now, Iterable<? extends MessageChannel> channels) {
        // Fails if one is not in the pool.
        now.forEach(extent -> exported.asSlice(extent.offset(), (long) extent.pages() * CoherentMessage.PAGE_BYTES));
        List<HostedExtent> before = extents;
        extents = List.copyOf(now);
        sessions.removeIf(session -> of(extents, session.channel).isEmpty());
        for (MessageChannel channel : channels) {
            if (!of(before, channel).equals(of(extents, channel))) {
                begin(channel);
            }
        }
    }

    private static List<HostedExtent> of(List<HostedExtent> extents, MessageChannel channel) {
        return extents.stream()
                .filter(extent ->
                        extent.directory().filter(channel.peer()::equals).isPresent())
                .toList();
    }

    private void begin(MessageChannel channel) {
        if (of(extents, channel).isEmpty()) {
            return;
        }
        sessions.removeIf(session -> session.channel.peer().equals(channel.peer()) && !session.channel.equals(channel));
        Session session = find(channel);
        if (session == null) {
            session = new Session(channel);
            sessions.add(session);
        }
        session.begin();
    }

    private @Nullable Session find(MessageChannel channel) {
        for (Session session : sessions) {
            if (session.channel.equals(channel)) {
                return session;
            }
        }
        return null;
    }

    void onClosed(MessageChannel channel) {
        sessions.removeIf(session -> session.channel.equals(channel));
    }

    /** Handles a message of a directory. */
    void onMessage(MessageChannel channel, MemorySegment message) {
        if (CoherentMessage.kind(message) == MessageKind.MIRROR_JOIN) {
            begin(channel);
            return;
        }
        Session session = find(channel);
        if (session == null
                || session.number != CoherentMessage.session(message)
                || !CoherentMessage.hasPayload(message)) {
            return;
        }
        long page = CoherentMessage.page(message);
        for (HostedExtent extent : extents) {
            long index = page - extent.firstPage();
            if (index >= 0
                    && index < extent.pages()
                    && extent.directory().filter(channel.peer()::equals).isPresent()) {
                MemorySegment.copy(
                        message,
                        CoherentMessage.HEADER_BYTES,
                        exported,
                        extent.offset() + index * CoherentMessage.PAGE_BYTES,
                        CoherentMessage.PAGE_BYTES);
                session.outbox.add(MessageKind.MIRROR_ACK, page);
                return;
            }
        }
    }

    @Override
    public String toString() {
        return "second home of %d: %s".formatted(space, sessions);
    }

    /** Sends what may be sent. Returns how many messages. */
    int send() {
        int sent = 0;
        for (Session session : sessions) {
            sent += session.outbox.send(session.channel);
        }
        return sent;
    }
}
