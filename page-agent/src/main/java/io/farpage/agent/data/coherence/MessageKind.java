package io.farpage.agent.data.coherence;

import org.jspecify.annotations.Nullable;

/** What a message says. The names are those of directory protocols: S is shared, M is modified. */
enum MessageKind {
    /** Member to directory: the member has begun, and can receive messages. */
    JOIN,
    /** Member to directory: a thread reads a page that is not resident. */
    GETS,
    /** Member to directory: a thread stores to a page. The flag says whether the member has it shared. */
    GETM,
    /** Member to directory: the bytes of a page that the member had for itself, and has shared from now on. */
    PUT,
    /** Member to directory: the member does not have a page, since it was told {@link #INV}. */
    INV_ACK,
    /** Member to directory: begins to say which pages the member has. Nothing that it said before counts. */
    SYNC_BEGIN,
    /** Member to directory: which pages of a range the member has, in two bits each. */
    SYNC,
    /** Member to directory: the member has none but the pages that it has named. */
    SYNC_END,
    /** Member to directory: the member has no page, and will have none. */
    LEFT,
    /** Directory to member: the directory knows the member, and asks which pages it has. */
    ADMITTED,
    /** Directory to member: the bytes of a page, to be read. */
    DATA_S,
    /** Directory to member: the bytes of a page that no other member has. */
    DATA_M,
    /** Directory to member: no other member has the page that this member has shared. */
    GRANT_M,
    /** Directory to member: give a page up. */
    INV,
    /** Directory to member: send a page that the member has for itself. */
    RECALL,
    /** Directory to member: the home has the bytes that the member has sent. */
    PUT_ACK,
    /** Directory to member: the newest version of a page was lost with its owner. */
    LOST,
    /** Directory to member: the directory answers no more messages of it. The text says why. */
    REFUSED,
    /** Directory to the second home of some of its pages: the directory is ready to send pages. */
    MIRROR_JOIN,
    /** Directory to second home: the bytes of a page, in its newest version. */
    MIRROR,
    /** Second home to directory: it takes pages from now on. Nothing that it was sent before counts. */
    MIRROR_READY,
    /** Second home to directory: it has the page. */
    MIRROR_ACK,
    /** Directory to member: a page that was requested if it is free is not. */
    DECLINED;

    /** For which part of a node a message is. */
    enum Receiver {
        MEMBER,
        DIRECTORY,
        SECOND_HOME
    }

    private static final MessageKind[] ALL = values();

    /** The kind with a code; null if the code has none. */
    static @Nullable MessageKind of(byte code) {
        return code >= 0 && code < ALL.length ? ALL[code] : null;
    }

    Receiver receiver() {
        return switch (this) {
            case JOIN, GETS, GETM, PUT, INV_ACK, SYNC_BEGIN, SYNC, SYNC_END, LEFT, MIRROR_READY, MIRROR_ACK ->
                Receiver.DIRECTORY;
            case ADMITTED, DATA_S, DATA_M, GRANT_M, INV, RECALL, PUT_ACK, LOST, REFUSED, DECLINED -> Receiver.MEMBER;
            case MIRROR_JOIN, MIRROR -> Receiver.SECOND_HOME;
        };
    }

    byte code() {
        return (byte) ordinal();
    }
}
