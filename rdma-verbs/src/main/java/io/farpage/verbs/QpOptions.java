package io.farpage.verbs;

import java.util.EnumSet;
import java.util.Set;

/**
 * Everything about a queue pair that comes from configuration: its sizes ({@code struct ibv_qp_init_attr}) and the
 * attributes that its transitions set ({@code struct ibv_qp_attr}, ibv_modify_qp(3)). A provider clamps them to what
 * its device permits; {@link QueuePair#options()} returns the outcome.
 *
 * @param access what the peer may do through this queue pair
 */
public record QpOptions(Sizes sizes, Retries retries, Path path, Set<AccessFlag> access) {
    /**
     * 128 sends, 16 receives, 1 entry each, 16 READs in flight, MTU 4096, 67 ms × (7 + 1), all remote access permitted.
     */
    public static final QpOptions DEFAULT = new QpOptions(
            new Sizes(128, 16, 1, 0, 16),
            new Retries(14, 7, 7, 12),
            new Path(Mtu.MTU_4096, 64, 0, 0),
            EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE));

    /**
     * How much may be outstanding.
     *
     * @param maxSendWr send work requests outstanding at once, at least 1
     * @param maxRecvWr receive work requests outstanding at once, at least 1; ignored with a shared receive queue
     * @param maxSge scatter/gather entries of one work request, at least 1
     * @param maxInlineData bytes that {@link SendFlag#INLINE} may carry
     * @param maxRdAtomic READs and atomics in flight at once, in either direction, 1..255
     */
    public record Sizes(int maxSendWr, int maxRecvWr, int maxSge, int maxInlineData, int maxRdAtomic) {
        public Sizes {
            requireRange("max_send_wr", maxSendWr, 1, 1 << 20);
            requireRange("max_recv_wr", maxRecvWr, 1, 1 << 20);
            requireRange("max_sge", maxSge, 1, 256);
            requireRange("max_inline_data", maxInlineData, 0, 1 << 16);
            requireRange("max_rd_atomic", maxRdAtomic, 1, 255);
        }

        public Sizes withQueues(int newMaxSendWr, int newMaxRecvWr) {
            return new Sizes(newMaxSendWr, newMaxRecvWr, maxSge, maxInlineData, maxRdAtomic);
        }

        /** These sizes within the limits of a device. */
        public Sizes atMost(int wr, int sge, int inlineData, int rdAtomic) {
            return new Sizes(
                    Math.min(maxSendWr, wr),
                    Math.min(maxRecvWr, wr),
                    Math.min(maxSge, sge),
                    Math.min(maxInlineData, inlineData),
                    Math.min(maxRdAtomic, rdAtomic));
        }
    }

    /**
     * How long a request may go unanswered.
     *
     * @param timeout local ACK timeout as 4.096 µs × 2^timeout, 1..31; 14 is 67 ms
     * @param retryCnt attempts after a timeout, 0..7
     * @param rnrRetry attempts after receiver-not-ready, 0..7; 7 is without limit
     * @param minRnrTimer how long a sender waits that finds no receive: a code of IBTA table 45, 0..31; 12 is 0.64 ms
     */
    public record Retries(int timeout, int retryCnt, int rnrRetry, int minRnrTimer) {
        public Retries {
            requireRange("timeout", timeout, 1, 31);
            requireRange("retry_cnt", retryCnt, 0, 7);
            requireRange("rnr_retry", rnrRetry, 0, 7);
            requireRange("min_rnr_timer", minRnrTimer, 0, 31);
        }
    }

    /**
     * How packets travel.
     *
     * @param mtu path MTU; the smaller of the two ends' is used
     * @param hopLimit hop limit of the global route header, 0..255
     * @param trafficClass traffic class of the global route header, 0..255
     * @param serviceLevel service level, 0..15
     */
    public record Path(Mtu mtu, int hopLimit, int trafficClass, int serviceLevel) {
        public Path {
            requireRange("hop_limit", hopLimit, 0, 255);
            requireRange("traffic_class", trafficClass, 0, 255);
            requireRange("service_level", serviceLevel, 0, 15);
        }
    }

    public QpOptions {
        access = Set.copyOf(access);
    }

    private static void requireRange(String name, int value, int low, int high) {
        if (value < low || value > high) {
            throw new IllegalArgumentException(name + " " + value + " is not within " + low + ".." + high);
        }
    }

    public QpOptions withSizes(Sizes newSizes) {
        return new QpOptions(newSizes, retries, path, access);
    }
}
