package io.farpage.verbs.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * The first message on a connection: which queue pair calls which.
 *
 * <pre>
 *  0 magic u32 | 4 version u16 | 6 size u16 | 8 source qpn u32 | 12 target qpn u32 | 16 source psn u32
 * 20 target psn u32 | 24 max_rd_atomic u8 | 25 rnr_retry u8 | 26 mtu code u8 | 27 flags u8 | 28 zero u32
 * </pre>
 *
 * @param version of the wire format that the caller wants to speak
 * @param sourceQpn the caller's queue pair
 * @param targetQpn the called queue pair
 * @param sourcePsn PSN of the caller's first request
 * @param targetPsn PSN of the called side's first request, as the coordinator published it to the caller
 * @param maxRdAtomic READs and atomics that the caller will have in flight
 * @param rnrRetry how often the caller would retry when there is no receive; 7 is for ever
 * @param mtu code of the caller's path MTU
 * @param proves whether both sides must prove that they hold the link's secret; if so, the caller's nonce follows the
 *     hello
 * @param encrypts whether the caller requires encryption, which takes a proof
 */
record Hello(
        int version,
        int sourceQpn,
        int targetQpn,
        int sourcePsn,
        int targetPsn,
        int maxRdAtomic,
        int rnrRetry,
        int mtu,
        boolean proves,
        boolean encrypts) {
    private static final int FLAG_PROVES = 1;
    private static final int FLAG_ENCRYPTS = 2;

    /** Whether 32 bytes begin as a hello of any version does. */
    static boolean hasMagic(MemorySegment bytes) {
        return bytes.get(Wire.INT, 0) == Wire.MAGIC;
    }

    static int version(MemorySegment bytes) {
        return Short.toUnsignedInt(bytes.get(Wire.SHORT, 4));
    }

    /** Decodes 32 bytes. Empty if any field is out of its range. */
    static Optional<Hello> decode(MemorySegment bytes) {
        Hello hello = new Hello(
                version(bytes),
                bytes.get(Wire.INT, 8),
                bytes.get(Wire.INT, 12),
                bytes.get(Wire.INT, 16),
                bytes.get(Wire.INT, 20),
                Byte.toUnsignedInt(bytes.get(JAVA_BYTE, 24)),
                Byte.toUnsignedInt(bytes.get(JAVA_BYTE, 25)),
                Byte.toUnsignedInt(bytes.get(JAVA_BYTE, 26)),
                (bytes.get(JAVA_BYTE, 27) & FLAG_PROVES) != 0,
                (bytes.get(JAVA_BYTE, 27) & FLAG_ENCRYPTS) != 0);
        boolean valid = hasMagic(bytes)
                && Wire.isVersion(hello.version)
                && bytes.get(Wire.SHORT, 6) == Wire.HELLO_SIZE
                && is24Bit(hello.sourceQpn)
                && is24Bit(hello.targetQpn)
                && is24Bit(hello.sourcePsn)
                && is24Bit(hello.targetPsn)
                && hello.maxRdAtomic >= 1
                && hello.rnrRetry <= 7
                && hello.mtu >= 1
                && hello.mtu <= 5
                && (bytes.get(JAVA_BYTE, 27) & ~(FLAG_PROVES | FLAG_ENCRYPTS)) == 0
                && (hello.proves || !hello.encrypts)
                && bytes.get(Wire.INT, 28) == 0;
        return valid ? Optional.of(hello) : Optional.empty();
    }

    /** The same, in the oldest version. */
    Hello oldest() {
        return new Hello(
                Wire.OLDEST_VERSION,
                sourceQpn,
                targetQpn,
                sourcePsn,
                targetPsn,
                maxRdAtomic,
                rnrRetry,
                mtu,
                proves,
                encrypts);
    }

    void encode(MemorySegment into) {
        into.set(Wire.INT, 0, Wire.MAGIC);
        into.set(Wire.SHORT, 4, (short) version);
        into.set(Wire.SHORT, 6, (short) Wire.HELLO_SIZE);
        into.set(Wire.INT, 8, sourceQpn);
        into.set(Wire.INT, 12, targetQpn);
        into.set(Wire.INT, 16, sourcePsn);
        into.set(Wire.INT, 20, targetPsn);
        into.set(JAVA_BYTE, 24, (byte) maxRdAtomic);
        into.set(JAVA_BYTE, 25, (byte) rnrRetry);
        into.set(JAVA_BYTE, 26, (byte) mtu);
        into.set(JAVA_BYTE, 27, (byte) ((proves ? FLAG_PROVES : 0) | (encrypts ? FLAG_ENCRYPTS : 0)));
        into.set(Wire.INT, 28, 0);
    }

    private static boolean is24Bit(int value) {
        return (value & ~Wire.PSN_MASK) == 0;
    }
}
