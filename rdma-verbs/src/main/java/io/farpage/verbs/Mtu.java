package io.farpage.verbs;

/** Path MTU of a queue pair: {@code enum ibv_mtu}. */
public enum Mtu {
    MTU_256,
    MTU_512,
    MTU_1024,
    MTU_2048,
    MTU_4096;

    /** The code in {@code enum ibv_mtu}, 1 to 5. */
    public int code() {
        return ordinal() + 1;
    }

    /** Payload bytes per packet. */
    public int bytes() {
        return 128 << code();
    }

    /** The smaller of the two, as both ends of a path must agree on. */
    public Mtu min(Mtu other) {
        return compareTo(other) <= 0 ? this : other;
    }

    /**
     * The MTU of {@code bytes}.
     *
     * @throws IllegalArgumentException naming the value, if it is none of 256, 512, 1024, 2048, 4096
     */
    public static Mtu ofBytes(int bytes) {
        for (Mtu mtu : values()) {
            if (mtu.bytes() == bytes) {
                return mtu;
            }
        }
        throw new IllegalArgumentException("mtu " + bytes + " is none of 256, 512, 1024, 2048, 4096");
    }

    /**
     * The MTU with {@code code}.
     *
     * @throws IllegalArgumentException if {@code code} is not within 1..5
     */
    public static Mtu ofCode(int code) {
        if (code < 1 || code > 5) {
            throw new IllegalArgumentException("ibv_mtu " + code + " is not within 1..5");
        }
        return values()[code - 1];
    }
}
