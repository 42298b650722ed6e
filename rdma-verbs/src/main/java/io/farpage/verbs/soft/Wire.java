package io.farpage.verbs.soft;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;
import static java.lang.foreign.ValueLayout.OfInt;
import static java.lang.foreign.ValueLayout.OfLong;
import static java.lang.foreign.ValueLayout.OfShort;

import java.nio.ByteOrder;

/** Constants of the wire format, versions 1 and 2. Everything is big-endian. */
final class Wire {
    static final int MAGIC = 0x46505631; // "FPV1"
    /** The latest version: requests may have {@link #FLAG_UNANSWERED}. */
    static final int VERSION = 2;

    static final int OLDEST_VERSION = 1;

    static final int HELLO_SIZE = 32;
    static final int HELLO_REPLY_SIZE = 16;
    /** Random bytes that one side of a handshake draws, so that no proof is valid twice. */
    static final int NONCE_SIZE = 32;

    /** An HMAC-SHA256. */
    static final int PROOF_SIZE = 32;

    static final int REQUEST_SIZE = 32;
    static final int REPLY_SIZE = 16;

    /** Bytes of one message at most; the length field could hold more, but nothing needs it. */
    static final int MAX_MESSAGE = 1 << 30;

    static final int READ = 1;
    static final int WRITE = 2;
    static final int SEND = 4;

    /** Flag of a request: raise a solicited event. */
    static final int FLAG_SOLICITED = 1;

    /**
     * Flag of a WRITE or SEND, from version 2 on: no reply unless it is refused. The reply to a later request says that
     * it was executed.
     */
    static final int FLAG_UNANSWERED = 2;

    /** Set in the opcode of a reply. */
    static final int REPLY_BIT = 0x80;

    static final int PSN_MASK = 0xFF_FFFF;

    static final OfShort SHORT = JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    static final OfInt INT = JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    static final OfLong LONG = JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private Wire() {}

    static boolean isVersion(int version) {
        return version >= OLDEST_VERSION && version <= VERSION;
    }

    /** Flags that a request may have on a connection of a version. */
    static int flags(int version) {
        return version >= 2 ? FLAG_SOLICITED | FLAG_UNANSWERED : FLAG_SOLICITED;
    }

    /** Whether a request may have this opcode. */
    static boolean isOpcode(int opcode) {
        return opcode == READ || opcode == WRITE || opcode == SEND;
    }
}
