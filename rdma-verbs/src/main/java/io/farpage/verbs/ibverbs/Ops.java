package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Libc;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * The data path of one device: what {@code <infiniband/verbs.h>} has as inline functions, which call function pointers
 * in {@code ibv_context.ops}. The handles are constants, which the JIT needs, and take the function's address, which
 * differs by device, as their first argument. All return an error number or a count, none needs errno.
 */
final class Ops {
    private static final MethodHandle poll$mh = handle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG));
    private static final MethodHandle notify$mh = handle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT));
    private static final MethodHandle post$mh =
            handle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));

    private final MemorySegment pollCq;
    private final MemorySegment reqNotifyCq;
    private final MemorySegment postSend;
    private final MemorySegment postRecv;
    private final MemorySegment postSrqRecv;

    /** @param context {@code struct ibv_context} */
    Ops(MemorySegment context) {
        pollCq = function(context, Structs.Context.POLL_CQ);
        reqNotifyCq = function(context, Structs.Context.REQ_NOTIFY_CQ);
        postSend = function(context, Structs.Context.POST_SEND);
        postRecv = function(context, Structs.Context.POST_RECV);
        postSrqRecv = function(context, Structs.Context.POST_SRQ_RECV);
    }

    @SuppressWarnings("restricted") // native access is this class's purpose
    private static MethodHandle handle(FunctionDescriptor descriptor) {
        // SAFETY: the descriptors repeat struct ibv_context_ops; the address comes with each call, from the device's
        // own context.
        return Linker.nativeLinker().downcallHandle(descriptor);
    }

    private static MemorySegment function(MemorySegment context, int offset) {
        return MemorySegment.ofAddress(context.get(JAVA_LONG, offset));
    }

    /** Completions taken, or a negative number. */
    int pollCq(long cq, int count, long wc) {
        try {
            return (int) poll$mh.invokeExact(pollCq, cq, count, wc);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    int reqNotifyCq(long cq) {
        try {
            return (int) notify$mh.invokeExact(reqNotifyCq, cq, 0);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    int postSend(long qp, long wr, long badWr) {
        try {
            return (int) post$mh.invokeExact(postSend, qp, wr, badWr);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    int postRecv(long qp, long wr, long badWr) {
        try {
            return (int) post$mh.invokeExact(postRecv, qp, wr, badWr);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    int postSrqRecv(long srq, long wr, long badWr) {
        try {
            return (int) post$mh.invokeExact(postSrqRecv, srq, wr, badWr);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
