package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.farpage.linux.Errno;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.LinkLayer;
import io.farpage.verbs.Mtu;
import io.farpage.verbs.PortAttributes;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QpOptions.Sizes;
import io.farpage.verbs.QpState;
import io.farpage.verbs.ibverbs.QpAttr.Value;
import io.farpage.verbs.ibverbs.Structs.QpInitAttr;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The control side of a queue pair: creating it and moving it between states, each transition with exactly the
 * attributes that InfiniBand requires for RC (ibv_modify_qp(3); IBTA volume 1, section 10.3).
 *
 * @param pointer {@code struct ibv_qp}
 * @param number queue pair number
 * @param device where it is
 */
record NativeQp(long pointer, int number, NativeDevice device) {
    static NativeQp create(NativePd domain, IbvQueues queues, QpOptions options) {
        NativeDevice device = domain.device();
        Sizes sizes = options.sizes();
        Errno errno = Errno.create();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr =
                    initAttr(arena, queues.sends().pointer(), queues.receives().pointer(), sizes);
            IbvSharedReceiveQueue shared = queues.shared();
            attr.set(JAVA_LONG, QpInitAttr.SRQ, shared == null ? 0 : shared.pointer());
            long pointer = Failure.check(
                    device.library().createQp(errno, domain.pointer(), attr),
                    errno,
                    "create_qp",
                    domain.toString(),
                    "no memory for " + sizes.maxSendWr() + " sends and " + sizes.maxRecvWr() + " receives of "
                            + sizes.maxSge() + " entries, or no queue pair left; the limits are "
                            + device.attributes());
            // SAFETY: the library returned a struct ibv_qp, which lives until it is destroyed.
            int number = Native.at(pointer, Structs.Qp.SIZE).get(JAVA_INT, Structs.Qp.QP_NUM);
            return new NativeQp(pointer, number, device);
        }
    }

    static MemorySegment initAttr(Arena arena, long sendCq, long recvCq, Sizes sizes) {
        MemorySegment attr = arena.allocate(QpInitAttr.SIZE, 8);
        attr.set(JAVA_LONG, QpInitAttr.SEND_CQ, sendCq);
        attr.set(JAVA_LONG, QpInitAttr.RECV_CQ, recvCq);
        attr.set(JAVA_INT, QpInitAttr.MAX_SEND_WR, sizes.maxSendWr());
        attr.set(JAVA_INT, QpInitAttr.MAX_RECV_WR, sizes.maxRecvWr());
        attr.set(JAVA_INT, QpInitAttr.MAX_SEND_SGE, sizes.maxSge());
        attr.set(JAVA_INT, QpInitAttr.MAX_RECV_SGE, sizes.maxSge());
        attr.set(JAVA_INT, QpInitAttr.MAX_INLINE_DATA, sizes.maxInlineData());
        attr.set(JAVA_INT, QpInitAttr.QP_TYPE, Value.QPT_RC);
        return attr;
    }

    void toInit(QpOptions options) {
        modify("RESET→INIT", Value.QPS_INIT, "port or access flags are not permitted", attr -> {
            attr.set(JAVA_SHORT, QpAttr.PKEY_INDEX, (short) 0);
            attr.set(JAVA_BYTE, QpAttr.PORT_NUM, (byte) device.port());
            attr.set(JAVA_INT, QpAttr.QP_ACCESS_FLAGS, AccessFlag.bits(options.access()));
            return Value.MASK_PKEY_INDEX | Value.MASK_PORT | Value.MASK_ACCESS_FLAGS;
        });
    }

    /** @param peerMtu the largest path MTU that the peer can use */
    void toRtr(QpOptions options, PortAttributes port, QpEndpoint remote, Mtu peerMtu) {
        String hint = "remote gid " + remote.gid() + " is not reachable from gid index " + port.gidIndex() + " ("
                + port.gid() + "), or the port is " + port.state();
        modify("INIT→RTR", Value.QPS_RTR, hint, attr -> {
            attr.set(
                    JAVA_INT,
                    QpAttr.PATH_MTU,
                    options.path().mtu().min(port.activeMtu()).min(peerMtu).code());
            attr.set(JAVA_INT, QpAttr.DEST_QP_NUM, remote.qpn());
            attr.set(JAVA_INT, QpAttr.RQ_PSN, remote.psn());
            attr.set(
                    JAVA_BYTE, QpAttr.MAX_DEST_RD_ATOMIC, (byte) options.sizes().maxRdAtomic());
            attr.set(JAVA_BYTE, QpAttr.MIN_RNR_TIMER, (byte) options.retries().minRnrTimer());
            attr.set(JAVA_SHORT, QpAttr.DLID, (short) remote.lid());
            attr.set(JAVA_BYTE, QpAttr.SL, (byte) options.path().serviceLevel());
            attr.set(JAVA_BYTE, QpAttr.AH_PORT_NUM, (byte) port.number());
            // RoCE has no other address than the GID. InfiniBand needs it to leave the subnet, and for the switch of
            // virtual ports.
            if (port.linkLayer() == LinkLayer.ETHERNET
                    || port.grhRequired()
                    || remote.gid().high() != port.gid().high()) {
                MemorySegment.copy(remote.gid().toBytes(), 0, attr, JAVA_BYTE, QpAttr.DGID, 16);
                attr.set(JAVA_BYTE, QpAttr.SGID_INDEX, (byte) port.gidIndex());
                attr.set(JAVA_BYTE, QpAttr.HOP_LIMIT, (byte) options.path().hopLimit());
                attr.set(JAVA_BYTE, QpAttr.TRAFFIC_CLASS, (byte) options.path().trafficClass());
                attr.set(JAVA_BYTE, QpAttr.IS_GLOBAL, (byte) 1);
            }
            return Value.MASK_AV
                    | Value.MASK_PATH_MTU
                    | Value.MASK_DEST_QPN
                    | Value.MASK_RQ_PSN
                    | Value.MASK_MAX_DEST_RD_ATOMIC
                    | Value.MASK_MIN_RNR_TIMER;
        });
    }

    /** @param initiatorDepth READs in flight at once, no more than the peer's max_dest_rd_atomic */
    void toRts(QpOptions options, int psn, int initiatorDepth) {
        modify("RTR→RTS", Value.QPS_RTS, "an attribute of " + options + " is not permitted", attr -> {
            attr.set(JAVA_INT, QpAttr.SQ_PSN, psn);
            attr.set(JAVA_BYTE, QpAttr.TIMEOUT, (byte) options.retries().timeout());
            attr.set(JAVA_BYTE, QpAttr.RETRY_CNT, (byte) options.retries().retryCnt());
            attr.set(JAVA_BYTE, QpAttr.RNR_RETRY, (byte) options.retries().rnrRetry());
            attr.set(JAVA_BYTE, QpAttr.MAX_RD_ATOMIC, (byte) initiatorDepth);
            return Value.MASK_TIMEOUT
                    | Value.MASK_RETRY_CNT
                    | Value.MASK_RNR_RETRY
                    | Value.MASK_SQ_PSN
                    | Value.MASK_MAX_QP_RD_ATOMIC;
        });
    }

    void toErr() {
        modify("→ERR", Value.QPS_ERR, "the device refused", attr -> 0);
    }

    void toReset() {
        modify("→RESET", Value.QPS_RESET, "the device refused", attr -> 0);
    }

    /** Makes the device flush work requests that were posted in ERR, if it does not by itself. */
    void flush() {
        if (device.quirks().sleepsInError()) {
            toErr();
        }
    }

    /** The state that the device has it in; ERR if it does not answer. */
    QpState queryState() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr = arena.allocate(QpAttr.SIZE, 8);
            MemorySegment initAttr = arena.allocate(QpInitAttr.SIZE, 8);
            if (device.library().queryQp(pointer, attr, Value.MASK_STATE, initAttr) != 0) {
                return QpState.ERR;
            }
            return switch (attr.get(JAVA_INT, QpAttr.QP_STATE)) {
                case Value.QPS_RESET -> QpState.RESET;
                case Value.QPS_INIT -> QpState.INIT;
                case Value.QPS_RTR -> QpState.RTR;
                case Value.QPS_RTS -> QpState.RTS;
                default -> QpState.ERR;
            };
        }
    }

    /** Sets the attributes of a transition; returns their mask. */
    @FunctionalInterface
    private interface Attributes {
        int set(MemorySegment attr);
    }

    private void modify(String transition, int state, String hint, Attributes attributes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr = arena.allocate(QpAttr.SIZE, 8);
            attr.set(JAVA_INT, QpAttr.QP_STATE, state);
            int mask = attributes.set(attr) | Value.MASK_STATE;
            Failure.check(
                    device.library().modifyQp(pointer, attr, mask), "modify_qp(" + transition + ")", toString(), hint);
        }
    }

    /** {@code mlx5_0/1 qp 0x0000a1}. */
    @Override
    public String toString() {
        return device + " qp 0x%06x".formatted(number);
    }
}
