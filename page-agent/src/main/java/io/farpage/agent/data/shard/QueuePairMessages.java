package io.farpage.agent.data.shard;

import org.jspecify.annotations.Nullable;

/** What a queue pair that carries messages has got to: the peer's HELLO, and the channel. The shard's thread only. */
final class QueuePairMessages {
    private final HelloReceive hello;
    private PeerLink link;
    private boolean peerReady;
    private boolean waitsForRoom;
    private @Nullable LinkChannel channel;

    /** @param link that has the queue pair */
    QueuePairMessages(HelloReceive hello, PeerLink link) {
        this.hello = hello;
        this.link = link;
    }

    HelloReceive hello() {
        return hello;
    }

    PeerLink link() {
        return link;
    }

    /** The queue pair has become another link's. */
    void link(PeerLink other) {
        link = other;
        if (channel != null) {
            channel.link(other);
        }
    }

    /** Whether the peer's HELLO has come. */
    boolean isPeerReady() {
        return peerReady;
    }

    void peerReady() {
        peerReady = true;
    }

    /** There is no room for its channel. Returns whether that is new. */
    boolean waitForRoom() {
        boolean isNew = !waitsForRoom;
        waitsForRoom = true;
        return isNew;
    }

    boolean waitsForRoom() {
        return waitsForRoom && channel == null;
    }

    @Nullable
    LinkChannel channel() {
        return channel;
    }

    void channel(LinkChannel made) {
        channel = made;
    }
}
