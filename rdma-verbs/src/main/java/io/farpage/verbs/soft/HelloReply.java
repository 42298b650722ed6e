package io.farpage.verbs.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * The answer to a {@link Hello}.
 *
 * <pre>
 *  0 magic u32 | 4 version u16 | 6 verdict u16 | 8 qpn u32
 * 12 max_rd_atomic u8 | 13 min_rnr_timer u8 | 14 mtu code u8 | 15 flags u8
 * </pre>
 *
 * @param version that the caller has asked for; if that is unknown, the latest one that is spoken
 * @param verdict accepted, or why not
 * @param qpn the called queue pair
 * @param maxRdAtomic READs and atomics that it takes at once
 * @param minRnrTimer its min_rnr_timer code
 * @param mtu code of its path MTU
 * @param encrypts with PROVE: whether the connection is encrypted, because one of the two sides requires it
 */
record HelloReply(int version, Verdict verdict, int qpn, int maxRdAtomic, int minRnrTimer, int mtu, boolean encrypts) {
    /** The codes are these constants' positions. */
    enum Verdict {
        ACCEPTED,
        /** The called side speaks another version, which is in the reply's version field. */
        VERSION_UNKNOWN,
        MALFORMED,
        /** No queue pair has the number called. */
        QPN_UNKNOWN,
        /** The queue pair is connected, but not to the caller, or expects other PSNs. */
        NOT_PEER,
        /** The queue pair is in ERR, or the library for an encrypted connection is being loaded. */
        NOT_READY,
        /** The queue pair has a connection from its peer already. */
        BUSY,
        /**
         * The handshake continues: the responder's nonce and proof follow this reply, and the caller must send its own
         * proof.
         */
        PROVE,
        /**
         * One side has a secret of the link and the other has none, or the proof is not of the secret that the queue
         * pair has.
         */
        NOT_PROVEN,
        /** The caller requires encryption, and the called side has no library for it. */
        NOT_ENCRYPTED
    }

    private static final int FLAG_ENCRYPTS = 1;
    private static final Verdict[] VERDICTS = Verdict.values();

    /** Decodes 16 bytes. Empty if any field is out of its range. */
    static Optional<HelloReply> decode(MemorySegment bytes) {
        int verdict = Short.toUnsignedInt(bytes.get(Wire.SHORT, 6));
        int qpn = bytes.get(Wire.INT, 8);
        if (bytes.get(Wire.INT, 0) != Wire.MAGIC
                || verdict >= VERDICTS.length
                || (qpn & ~Wire.PSN_MASK) != 0
                || (bytes.get(JAVA_BYTE, 15) & ~(verdict == Verdict.PROVE.ordinal() ? FLAG_ENCRYPTS : 0)) != 0) {
            return Optional.empty();
        }
        HelloReply reply = new HelloReply(
                Short.toUnsignedInt(bytes.get(Wire.SHORT, 4)),
                VERDICTS[verdict],
                qpn,
                Byte.toUnsignedInt(bytes.get(JAVA_BYTE, 12)),
                Byte.toUnsignedInt(bytes.get(JAVA_BYTE, 13)),
                Byte.toUnsignedInt(bytes.get(JAVA_BYTE, 14)),
                bytes.get(JAVA_BYTE, 15) != 0);
        boolean accepted = reply.verdict == Verdict.ACCEPTED;
        boolean valid = !accepted
                || (Wire.isVersion(reply.version)
                        && reply.maxRdAtomic >= 1
                        && reply.minRnrTimer <= 31
                        && reply.mtu >= 1
                        && reply.mtu <= 5);
        return valid ? Optional.of(reply) : Optional.empty();
    }

    /** Asks for a proof. */
    static HelloReply prove(int version, int qpn, boolean encrypts) {
        return new HelloReply(version, Verdict.PROVE, qpn & Wire.PSN_MASK, 0, 0, 0, encrypts);
    }

    static HelloReply refusal(int version, Verdict verdict, int qpn) {
        return new HelloReply(version, verdict, qpn & Wire.PSN_MASK, 0, 0, 0, false);
    }

    void encode(MemorySegment into) {
        into.set(Wire.INT, 0, Wire.MAGIC);
        into.set(Wire.SHORT, 4, (short) version);
        into.set(Wire.SHORT, 6, (short) verdict.ordinal());
        into.set(Wire.INT, 8, qpn);
        into.set(JAVA_BYTE, 12, (byte) maxRdAtomic);
        into.set(JAVA_BYTE, 13, (byte) minRnrTimer);
        into.set(JAVA_BYTE, 14, (byte) mtu);
        into.set(JAVA_BYTE, 15, (byte) (encrypts ? FLAG_ENCRYPTS : 0));
    }
}
