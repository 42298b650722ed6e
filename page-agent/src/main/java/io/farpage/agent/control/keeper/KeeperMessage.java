package io.farpage.agent.control.keeper;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * A message between an agent and its keeper, always {@value #BYTES} bytes, little-endian: the magic {@code FPKEEPER},
 * the version 1 (4 bytes), the kind (4 bytes), and a value (8 bytes). A descriptor travels with {@link Kind#KEEP},
 * {@link Kind#KEPT_BEFORE}, {@link Kind#HOLD} and {@link Kind#HELD}.
 *
 * @param kind what is asked or answered
 * @param value of {@link Kind#BUSY} the holder's process; of {@link Kind#HOLD} and {@link Kind#HELD} a
 *     {@link KeptName}; of {@link Kind#RELEASE} a group of names; of {@link Kind#NEXT} where to continue; of
 *     {@link Kind#CLAIM} and {@link Kind#WAIT} the latest {@link KeptFormat} that the agent reads, and of
 *     {@link Kind#REFUSED} to these the one of what is kept; of {@link Kind#WAITING} the length of the pool's file, 0
 *     if there is none; of {@link Kind#SEEN} a {@link KeeperState}; otherwise 0
 */
record KeeperMessage(Kind kind, long value) {
    static final int BYTES = 24;

    private static final long MAGIC = ByteBuffer.wrap("FPKEEPER".getBytes(StandardCharsets.US_ASCII))
            .order(ByteOrder.LITTLE_ENDIAN)
            .getLong();
    private static final int VERSION = 1;

    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    /** What a message asks or answers. */
    enum Kind {
        /** Agent: be the holder, and get what is kept. */
        CLAIM(1),
        /** Agent: keep this descriptor; it replaces any other. */
        KEEP(2),
        /** Agent: let go of all that is kept. */
        DROP(3),
        /** Agent: keep this descriptor under a name; it replaces any other of that name. */
        HOLD(4),
        /** Agent: let go of the descriptors of a group, all at once. */
        RELEASE(5),
        /** Agent: which is the first descriptor whose name is not below the value? */
        NEXT(6),
        /**
         * Standby: be the holder, and get what is kept, once the holder has ended. Until then the keeper sends
         * {@link #WAITING} alone.
         */
        WAIT(7),
        /** Anyone: which process is the holder, and which is next? */
        LOOK(8),
        /** Keeper: the agent is the holder, and nothing is kept. */
        EMPTY(11),
        /** Keeper: the agent is the holder, and this was kept. */
        KEPT_BEFORE(12),
        /** Keeper: another process is the holder. */
        BUSY(13),
        /** Keeper: done. */
        DONE(14),
        /** Keeper: refused. */
        REFUSED(15),
        /** Keeper: this descriptor is kept under the name. */
        HELD(16),
        /** Keeper: no descriptor is kept under such a name. */
        NONE(17),
        /** Keeper: the standby gets a message when it becomes the holder. */
        WAITING(18),
        /** Keeper: the holder, and the one that is next. */
        SEEN(19);

        private final int code;

        Kind(int code) {
            this.code = code;
        }

        private static Optional<Kind> of(int code) {
            for (Kind kind : values()) {
                if (kind.code == code) {
                    return Optional.of(kind);
                }
            }
            return Optional.empty();
        }
    }

    /** Whether a message of an agent has a descriptor. */
    boolean bringsDescriptor() {
        return kind == Kind.KEEP || kind == Kind.HOLD;
    }

    static KeeperMessage of(Kind kind) {
        return new KeeperMessage(kind, 0);
    }

    byte[] encode() {
        return ByteBuffer.allocate(BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(MAGIC)
                .putInt(VERSION)
                .putInt(kind.code)
                .putLong(value)
                .array();
    }

    /** Reads what was received; empty if it is not a message. */
    static Optional<KeeperMessage> decode(MemorySegment received, long bytes) {
        if (bytes != BYTES || received.get(LONG, 0) != MAGIC || received.get(INT, 8) != VERSION) {
            return Optional.empty();
        }
        return Kind.of(received.get(INT, 12)).map(kind -> new KeeperMessage(kind, received.get(LONG, 16)));
    }
}
