package io.farpage.agent.data.coherence;

import io.farpage.agent.data.shard.MessageChannel;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The second homes of a directory's extents. They are sent each page that a member has sent home, and over each new
 * channel what they have not confirmed. The shard's thread only.
 */
final class Mirrors {
    private final long space;
    private final DirectoryExtents extents;
    private final DirectoryPages pages;
    /** By extent; null where there is no second home. */
    private final @Nullable Mirror[] ofExtent;

    /** A second home, and the channel to it while there is one. */
    private final class Mirror {
        final String node;
        final Outbox outbox = new Outbox(this::write);

        @Nullable
        MessageChannel channel;
        /** Number by which it takes pages; 0 while it takes none. */
        long session;

        Mirror(String node) {
            this.node = node;
        }

        private int write(MemorySegment to, MessageKind kind, int flags, long page) {
            CoherentMessage.write(to, kind, flags, space, 0, session, page);
            if (kind != MessageKind.MIRROR) {
                return CoherentMessage.HEADER_BYTES;
            }
            int index = extents.index(page);
            MemorySegment.copy(
                    extents.frames(index),
                    extents.offset(index),
                    to,
                    CoherentMessage.HEADER_BYTES,
                    CoherentMessage.PAGE_BYTES);
            return CoherentMessage.PAGE_MESSAGE_BYTES;
        }

        @Override
        public String toString() {
            return "%s: session %d".formatted(node, session);
        }

        void open(MessageChannel fresh) {
            close();
            channel = fresh;
            outbox.add(MessageKind.MIRROR_JOIN, 0);
        }

        void close() {
            channel = null;
            session = 0;
            outbox.clear();
        }
    }

    Mirrors(long space, DirectoryExtents extents, DirectoryPages pages) {
        this.space = space;
        this.extents = extents;
        this.pages = pages;
        ofExtent = new Mirror[extents.count()];
    }

    /**
     * Replaces them.
     *
     * @param nodes by extent
     * @param channels that are open
     * @return whether an extent has none that had one
     */
    boolean set(List<Optional<String>> nodes, Iterable<? extends MessageChannel> channels) {
        List<Mirror> former = all();
        boolean isAnyGone = false;
        for (int i = 0; i < ofExtent.length; i++) {
            isAnyGone |= ofExtent[i] != null && nodes.get(i).isEmpty();
            ofExtent[i] = nodes.get(i).map(this::mirror).orElse(null);
        }
        for (Mirror mirror : all()) {
            if (!former.contains(mirror)) {
                for (MessageChannel channel : channels) {
                    open(mirror, channel);
                }
            }
        }
        return isAnyGone;
    }

    private Mirror mirror(String node) {
        return all().stream()
                .filter(mirror -> mirror.node.equals(node))
                .findFirst()
                .orElseGet(() -> new Mirror(node));
    }

    private List<Mirror> all() {
        List<Mirror> all = new ArrayList<>();
        for (Mirror mirror : ofExtent) {
            if (mirror != null && !all.contains(mirror)) {
                all.add(mirror);
            }
        }
        return all;
    }

    private static void open(Mirror mirror, MessageChannel channel) {
        if (mirror.node.equals(channel.peer())) {
            mirror.open(channel);
        }
    }

    void onOpened(MessageChannel channel) {
        all().forEach(mirror -> open(mirror, channel));
    }

    void onClosed(MessageChannel channel) {
        for (Mirror mirror : all()) {
            if (channel.equals(mirror.channel)) {
                mirror.close();
            }
        }
    }

    /** Whether a page has a second home. */
    boolean has(int index) {
        return ofExtent[extents.extentOf(index)] != null;
    }

    /** The frame of a page has a newer version. */
    void send(int index) {
        Mirror mirror = Objects.requireNonNull(ofExtent[extents.extentOf(index)]);
        if (mirror.session != 0) {
            mirror.outbox.add(MessageKind.MIRROR, extents.page(index));
        }
    }

    /** A second home takes pages, in a session with a number. */
    void onReady(MessageChannel channel, long session) {
        for (Mirror mirror : all()) {
            if (channel.equals(mirror.channel)) {
                mirror.outbox.clear();
                mirror.session = session;
                repeat(mirror);
            }
        }
    }

    private void repeat(Mirror mirror) {
        for (int index = 0; index < pages.count(); index++) {
            if (pages.isMirroring(index) && mirror.equals(ofExtent[extents.extentOf(index)])) {
                send(index);
            }
        }
    }

    /** Whether a confirmation is that of the second home that was sent a page. */
    boolean confirms(MessageChannel channel, long session, int index) {
        Mirror mirror = ofExtent[extents.extentOf(index)];
        return mirror != null && channel.equals(mirror.channel) && session == mirror.session;
    }

    /** Sends what may be sent. Returns how many messages. */
    int send() {
        int sent = 0;
        Mirror before = null;
        for (Mirror mirror : ofExtent) {
            MessageChannel channel = mirror == null || mirror.equals(before) ? null : mirror.channel;
            if (mirror != null && channel != null) {
                sent += mirror.outbox.send(channel);
            }
            before = mirror;
        }
        return sent;
    }

    @Override
    public String toString() {
        return Arrays.toString(ofExtent);
    }
}
