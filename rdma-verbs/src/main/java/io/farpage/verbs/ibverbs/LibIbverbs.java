package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.linux.Libc;
import io.farpage.linux.SharedLibrary;
import io.farpage.verbs.Availability.Reason;
import io.farpage.verbs.Availability.Unavailable;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The functions of one loaded copy of libibverbs; all of them are of the control path. A function that returns a
 * pointer leaves its error number in an {@link Errno}; one that returns an int returns the error number itself, as the
 * manual pages say. Pointers are {@code long}s.
 */
final class LibIbverbs {
    static final String SONAME = "libibverbs.so.1";
    private static final String INSTALL = "install it: apt-get install libibverbs1 ibverbs-providers rdma-core";

    /** What loading comes to. */
    sealed interface Loading {
        record Loaded(LibIbverbs library) implements Loading {}

        record Failed(Unavailable why) implements Loading {}
    }

    /** Functions that take a pointer and free what it points to: 0, or an error number. */
    enum Release {
        CLOSE_DEVICE("ibv_close_device"),
        DEALLOC_PD("ibv_dealloc_pd"),
        DEREG_MR("ibv_dereg_mr"),
        DESTROY_CQ("ibv_destroy_cq"),
        DESTROY_QP("ibv_destroy_qp"),
        DESTROY_SRQ("ibv_destroy_srq"),
        DESTROY_COMP_CHANNEL("ibv_destroy_comp_channel");

        final String symbol;

        Release(String symbol) {
            this.symbol = symbol;
        }
    }

    private final MethodHandle getDeviceList$mh;
    private final MethodHandle freeDeviceList$mh;
    private final MethodHandle getDeviceName$mh;
    private final MethodHandle openDevice$mh;
    private final MethodHandle queryDevice$mh;
    private final MethodHandle queryPort$mh;
    private final MethodHandle queryGid$mh;
    private final MethodHandle queryGidTable$mh;
    private final MethodHandle allocPd$mh;
    private final MethodHandle regMr$mh;
    private final MethodHandle createCompChannel$mh;
    private final MethodHandle createCq$mh;
    private final MethodHandle createSrq$mh;
    private final MethodHandle createQp$mh;
    private final MethodHandle modifyQp$mh;
    private final MethodHandle queryQp$mh;
    private final MethodHandle getCqEvent$mh;
    private final MethodHandle ackCqEvents$mh;
    private final MethodHandle getAsyncEvent$mh;
    private final MethodHandle ackAsyncEvent$mh;
    private final MethodHandle[] release$mh = new MethodHandle[Release.values().length];

    private LibIbverbs(SharedLibrary symbols) {
        getDeviceList$mh = symbols.setsErrno("ibv_get_device_list", JAVA_LONG, JAVA_LONG);
        freeDeviceList$mh = symbols.isVoid("ibv_free_device_list", JAVA_LONG);
        getDeviceName$mh = symbols.returns("ibv_get_device_name", JAVA_LONG, JAVA_LONG);
        openDevice$mh = symbols.setsErrno("ibv_open_device", JAVA_LONG, JAVA_LONG);
        queryDevice$mh = symbols.returns("ibv_query_device", JAVA_INT, JAVA_LONG, JAVA_LONG);
        queryPort$mh = symbols.returns("ibv_query_port", JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_LONG);
        queryGid$mh = symbols.setsErrno("ibv_query_gid", JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_INT, JAVA_LONG);
        queryGidTable$mh = symbols.returns(
                "_ibv_query_gid_table", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);
        allocPd$mh = symbols.setsErrno("ibv_alloc_pd", JAVA_LONG, JAVA_LONG);
        regMr$mh = symbols.setsErrno("ibv_reg_mr", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT);
        createCompChannel$mh = symbols.setsErrno("ibv_create_comp_channel", JAVA_LONG, JAVA_LONG);
        createCq$mh =
                symbols.setsErrno("ibv_create_cq", JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
        createSrq$mh = symbols.setsErrno("ibv_create_srq", JAVA_LONG, JAVA_LONG, JAVA_LONG);
        createQp$mh = symbols.setsErrno("ibv_create_qp", JAVA_LONG, JAVA_LONG, JAVA_LONG);
        modifyQp$mh = symbols.returns("ibv_modify_qp", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
        queryQp$mh = symbols.returns("ibv_query_qp", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);
        getCqEvent$mh = symbols.setsErrno("ibv_get_cq_event", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
        ackCqEvents$mh = symbols.isVoid("ibv_ack_cq_events", JAVA_LONG, JAVA_INT);
        getAsyncEvent$mh = symbols.setsErrno("ibv_get_async_event", JAVA_INT, JAVA_LONG, JAVA_LONG);
        ackAsyncEvent$mh = symbols.isVoid("ibv_ack_async_event", JAVA_LONG);
        for (Release release : Release.values()) {
            release$mh[release.ordinal()] = symbols.returns(release.symbol, JAVA_INT, JAVA_LONG);
        }
    }

    /** Loads the library and binds all of it. Never throws for what it finds. */
    static Loading load(Optional<Path> path) {
        return switch (SharedLibrary.load(SONAME, path)) {
            case SharedLibrary.Loading.Loaded(SharedLibrary library) ->
                bind(library, path.map(Path::toString).orElse(SONAME));
            case SharedLibrary.Loading.NotFound(String detail) -> failed(Reason.NO_LIBRARY, detail, INSTALL);
            case SharedLibrary.Loading.Denied(String detail, String fix) ->
                failed(Reason.NATIVE_ACCESS_DENIED, detail, fix);
        };
    }

    private static Loading bind(SharedLibrary symbols, String name) {
        LibIbverbs library = new LibIbverbs(symbols);
        if (!symbols.missing().isEmpty()) {
            return failed(
                    Reason.MISSING_SYMBOL,
                    name + " lacks " + String.join(", ", symbols.missing()),
                    "it is not libibverbs, or one older than rdma-core 32; " + INSTALL);
        }
        return new Loading.Loaded(library);
    }

    private static Loading.Failed failed(Reason reason, String detail, String fix) {
        return new Loading.Failed(new Unavailable(reason, detail, fix));
    }

    /** {@code struct ibv_device **ibv_get_device_list(int *num)}: 0 on failure. */
    long getDeviceList(Errno errno, MemorySegment count) {
        try {
            return (long) getDeviceList$mh.invokeExact(errno.segment(), count.address());
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    void freeDeviceList(long list) {
        try {
            freeDeviceList$mh.invokeExact(list);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** {@code const char *ibv_get_device_name(struct ibv_device *)}. */
    long getDeviceName(long device) {
        try {
            return (long) getDeviceName$mh.invokeExact(device);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    long openDevice(Errno errno, long device) {
        return pointer(openDevice$mh, errno, device);
    }

    int queryDevice(long context, MemorySegment attr) {
        try {
            return (int) queryDevice$mh.invokeExact(context, attr.address());
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** @param attr zeroed, {@link Structs.PortAttr#ROOM} bytes: how much is filled in depends on the library's age */
    int queryPort(long context, int port, MemorySegment attr) {
        try {
            return (int) queryPort$mh.invokeExact(context, (byte) port, attr.address());
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** 0, or an error number. */
    int queryGid(long context, int port, int index, MemorySegment gid) {
        Errno errno = Errno.create();
        try {
            int result = (int) queryGid$mh.invokeExact(errno.segment(), context, (byte) port, index, gid.address());
            return result == 0 ? 0 : errno.value();
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** Reads the entries in use of all ports' tables at once: their count, or a negative error number. */
    long queryGidTable(long context, MemorySegment entries, long capacity) {
        try {
            return (long)
                    queryGidTable$mh.invokeExact(context, entries.address(), capacity, 0, (long) Structs.GidEntry.SIZE);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    long allocPd(Errno errno, long context) {
        return pointer(allocPd$mh, errno, context);
    }

    long createCompChannel(Errno errno, long context) {
        return pointer(createCompChannel$mh, errno, context);
    }

    long regMr(Errno errno, long pd, long address, long length, int access) {
        try {
            return (long) regMr$mh.invokeExact(errno.segment(), pd, address, length, access);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    long createCq(Errno errno, long context, int cqe, long channel) {
        try {
            return (long) createCq$mh.invokeExact(errno.segment(), context, cqe, 0L, channel, 0);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    long createSrq(Errno errno, long pd, MemorySegment initAttr) {
        try {
            return (long) createSrq$mh.invokeExact(errno.segment(), pd, initAttr.address());
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    long createQp(Errno errno, long pd, MemorySegment initAttr) {
        try {
            return (long) createQp$mh.invokeExact(errno.segment(), pd, initAttr.address());
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    int modifyQp(long qp, MemorySegment attr, int mask) {
        try {
            return (int) modifyQp$mh.invokeExact(qp, attr.address(), mask);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    int queryQp(long qp, MemorySegment attr, int mask, MemorySegment initAttr) {
        try {
            return (int) queryQp$mh.invokeExact(qp, attr.address(), mask, initAttr.address());
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** 0, or an error number; to {@code out} go two pointers: the completion queue, and its context. */
    int getCqEvent(Errno errno, long channel, MemorySegment out) {
        try {
            int result = (int) getCqEvent$mh.invokeExact(
                    errno.segment(), channel, out.address(), out.address() + ValueLayout.ADDRESS.byteSize());
            return result == 0 ? 0 : errno.value();
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    void ackCqEvents(long cq, int count) {
        try {
            ackCqEvents$mh.invokeExact(cq, count);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** 0, or an error number. */
    int getAsyncEvent(Errno errno, long context, MemorySegment event) {
        try {
            int result = (int) getAsyncEvent$mh.invokeExact(errno.segment(), context, event.address());
            return result == 0 ? 0 : errno.value();
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    void ackAsyncEvent(MemorySegment event) {
        try {
            ackAsyncEvent$mh.invokeExact(event.address());
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    /** 0, or an error number. */
    int release(Release what, long pointer) {
        try {
            return (int) release$mh[what.ordinal()].invokeExact(pointer);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    private static long pointer(MethodHandle handle, Errno errno, long argument) {
        try {
            return (long) handle.invokeExact(errno.segment(), argument);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
