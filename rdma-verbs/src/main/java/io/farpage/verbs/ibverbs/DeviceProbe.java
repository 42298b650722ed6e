package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.verbs.DeviceAttributes;
import io.farpage.verbs.QpOptions.Sizes;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.ibverbs.LibIbverbs.Release;
import io.farpage.verbs.ibverbs.Structs.DeviceAttr;
import io.farpage.verbs.ibverbs.Structs.QpInitAttr;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Reads the limits of an open device. */
final class DeviceProbe {
    /** Inline sizes to try, largest first: a device states its limit only by refusing queue pairs above it. */
    private static final int[] INLINE_SIZES = {1024, 512, 256, 128, 64, 0};

    private DeviceProbe() {}

    /** {@code struct ibv_device_attr}, filled in. */
    static MemorySegment query(DeviceContext device, Arena arena) {
        MemorySegment attr = arena.allocate(DeviceAttr.SIZE, 8);
        Failure.check(
                device.library().queryDevice(device.pointer(), attr),
                "query_device",
                device.name(),
                "the device does not answer");
        return attr;
    }

    static DeviceAttributes attributes(DeviceContext device, MemorySegment attr, int port) {
        return new DeviceAttributes(
                attr.getString(DeviceAttr.FW_VER),
                attr.get(JAVA_INT, DeviceAttr.MAX_QP),
                attr.get(JAVA_INT, DeviceAttr.MAX_QP_WR),
                Math.min(attr.get(JAVA_INT, DeviceAttr.MAX_SGE), positive(attr.get(JAVA_INT, DeviceAttr.MAX_SGE_RD))),
                attr.get(JAVA_INT, DeviceAttr.MAX_CQE),
                attr.get(JAVA_INT, DeviceAttr.MAX_MR),
                attr.get(JAVA_LONG, DeviceAttr.MAX_MR_SIZE),
                Math.min(
                        255,
                        Math.min(
                                attr.get(JAVA_INT, DeviceAttr.MAX_QP_RD_ATOM),
                                attr.get(JAVA_INT, DeviceAttr.MAX_QP_INIT_RD_ATOM))),
                attr.get(JAVA_INT, DeviceAttr.MAX_SRQ_WR),
                maxInlineData(device),
                Ports.query(device, port).maxMessageSize(),
                device.host().numaNode(device.name()));
    }

    /** A device may leave a limit at 0 that equals another one. */
    private static int positive(int limit) {
        return limit > 0 ? limit : Integer.MAX_VALUE;
    }

    /**
     * The most inline data that the device grants a queue pair.
     *
     * @throws VerbsException if the device creates no queue pair of reliable connections
     */
    private static int maxInlineData(DeviceContext device) {
        LibIbverbs library = device.library();
        Errno errno = Errno.create();
        long pd = library.allocPd(errno, device.pointer());
        long cq = pd == 0 ? 0 : library.createCq(errno, device.pointer(), 1, 0);
        try (Arena arena = Arena.ofConfined()) {
            for (int i = 0; i < INLINE_SIZES.length && cq != 0; i++) {
                MemorySegment attr = NativeQp.initAttr(arena, cq, cq, new Sizes(1, 1, 1, INLINE_SIZES[i], 1));
                long qp = library.createQp(errno, pd, attr);
                if (qp != 0) {
                    library.release(Release.DESTROY_QP, qp);
                    return attr.get(JAVA_INT, QpInitAttr.MAX_INLINE_DATA);
                }
            }
        } finally {
            if (cq != 0) {
                library.release(Release.DESTROY_CQ, cq);
            }
            if (pd != 0) {
                library.release(Release.DEALLOC_PD, pd);
            }
        }
        throw Failure.of(
                "create_qp",
                device.name(),
                errno.value(),
                "the device has no reliable connections, or no queue pair is left; see rdma resource show qp");
    }
}
