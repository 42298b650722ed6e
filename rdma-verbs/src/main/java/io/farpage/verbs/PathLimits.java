package io.farpage.verbs;

import java.util.Objects;

/**
 * What one end of a connection accepts. The ends exchange it before they connect: a device answers a packet above its
 * path MTU, or a READ beyond its responder resources, with {@link WcStatus#REM_INV_REQ_ERR}, which is the same answer
 * that a wrong request gets.
 *
 * @param mtu the largest path MTU it can use
 * @param maxRdAtomic READs and atomics it answers at once ({@code max_dest_rd_atomic}), 1..255
 */
public record PathLimits(Mtu mtu, int maxRdAtomic) {
    public PathLimits {
        Objects.requireNonNull(mtu, "mtu");
        if (maxRdAtomic < 1 || maxRdAtomic > 255) {
            throw new IllegalArgumentException("max_rd_atomic " + maxRdAtomic + " is not within 1..255");
        }
    }

    /** What a queue pair with {@code options} accepts. */
    public static PathLimits of(QpOptions options) {
        return new PathLimits(options.path().mtu(), options.sizes().maxRdAtomic());
    }
}
