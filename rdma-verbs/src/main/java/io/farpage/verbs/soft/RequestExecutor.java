package io.farpage.verbs.soft;

import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.WcOpcode;
import io.farpage.verbs.WcStatus;
import org.jspecify.annotations.Nullable;

/** Checks and executes requests against registered memory and posted receives, as a NIC's responder does. Owned by one responder. */
final class RequestExecutor {
    private static final long LONGEST_WAIT_NANOS = 100_000_000;

    private final SoftQueuePair queuePair;
    private final Responder responder;
    private final RequestStream stream;
    private final ReplyBatch replies;
    private final int accessBits;
    private final long rnrBudgetNanos;
    private final int responderDepth;

    RequestExecutor(
            SoftQueuePair queuePair, Responder responder, RequestStream stream, ReplyBatch replies, Hello hello) {
        this.queuePair = queuePair;
        this.responder = responder;
        this.stream = stream;
        this.replies = replies;
        this.accessBits = AccessFlag.bits(queuePair.options().access());
        this.rnrBudgetNanos = hello.rnrRetry() == 7
                ? Long.MAX_VALUE
                : hello.rnrRetry() * RnrTimer.nanos(queuePair.options().minRnrTimer());
        this.responderDepth = Math.min(hello.maxRdAtomic(), queuePair.options().maxRdAtomic());
    }

    /**
     * Executes {@code request}, whose payload is next in the stream, and adds the reply if it succeeds.
     *
     * @return success, the refusal to send, or null if the connection ended meanwhile
     */
    @Nullable
    WcStatus execute(RequestHeader request) {
        if (Wire.isReadOrAtomic(request.opcode) && replies.reads() >= responderDepth) {
            return WcStatus.REM_INV_REQ_ERR; // more at once than both ends agreed on
        }
        return switch (request.opcode) {
            case Wire.READ -> read(request);
            case Wire.WRITE -> write(request);
            case Wire.WRITE_WITH_IMM -> writeWithImm(request);
            case Wire.SEND, Wire.SEND_WITH_IMM -> send(request);
            default -> atomic(request);
        };
    }

    private WcStatus read(RequestHeader request) {
        WcStatus status = check(request, AccessFlag.REMOTE_READ.bit());
        if (status == WcStatus.SUCCESS) {
            replies.addData(request.opcode, request.psn, request.remoteAddress, request.length);
        }
        return status;
    }

    private @Nullable WcStatus write(RequestHeader request) {
        WcStatus status = check(request, AccessFlag.REMOTE_WRITE.bit());
        if (status != WcStatus.SUCCESS) {
            return status;
        }
        if (!flushBefore(request.length) || !stream.take(request.remoteAddress, request.length)) {
            return null;
        }
        replies.add(request.opcode, WcStatus.SUCCESS, request.psn);
        return WcStatus.SUCCESS;
    }

    private @Nullable WcStatus writeWithImm(RequestHeader request) {
        WcStatus status = check(request, AccessFlag.REMOTE_WRITE.bit());
        if (status != WcStatus.SUCCESS) {
            return status;
        }
        int slot = queuePair.receives().take();
        if (slot == ReceiveQueue.NONE) {
            slot = awaitReceive();
            // No region is held while the thread waits, so it may have been deregistered.
            status = check(request, AccessFlag.REMOTE_WRITE.bit());
        }
        if (slot == ReceiveQueue.NONE) {
            return notReady();
        }
        if (status != WcStatus.SUCCESS) {
            queuePair.receives().untake(slot);
            return status;
        }
        if (!flushBefore(request.length) || !stream.take(request.remoteAddress, request.length)) {
            queuePair.receives().untake(slot);
            return null;
        }
        queuePair.completeReceive(
                slot, WcStatus.SUCCESS, WcOpcode.RECV_RDMA_WITH_IMM, request.length, request.immediate, true);
        replies.add(request.opcode, WcStatus.SUCCESS, request.psn);
        return WcStatus.SUCCESS;
    }

    private @Nullable WcStatus send(RequestHeader request) {
        int slot = queuePair.receives().take();
        if (slot == ReceiveQueue.NONE) {
            slot = awaitReceive();
        }
        if (slot == ReceiveQueue.NONE) {
            return notReady();
        }
        ReceiveQueue receives = queuePair.receives();
        RegionTable table = queuePair.regions();
        long room = 0;
        boolean permitted = true;
        for (int i = 0; i < receives.sgeCount(slot); i++) {
            room += receives.sgeLength(slot, i);
            permitted &= table.permits(
                    receives.sgeLkey(slot, i),
                    receives.sgeAddress(slot, i),
                    receives.sgeLength(slot, i),
                    AccessFlag.LOCAL_WRITE.bit());
        }
        if (request.length > room) {
            queuePair.completeReceive(slot, WcStatus.LOC_LEN_ERR, WcOpcode.RECV, 0, 0, false);
            return WcStatus.REM_INV_REQ_ERR;
        }
        if (!permitted) {
            queuePair.completeReceive(slot, WcStatus.LOC_PROT_ERR, WcOpcode.RECV, 0, 0, false);
            return WcStatus.REM_OP_ERR;
        }
        if (!flushBefore(request.length) || !scatter(receives, slot, request.length)) {
            queuePair.receives().untake(slot);
            return null;
        }
        queuePair.completeReceive(
                slot,
                WcStatus.SUCCESS,
                WcOpcode.RECV,
                request.length,
                request.immediate,
                request.opcode == Wire.SEND_WITH_IMM);
        replies.add(request.opcode, WcStatus.SUCCESS, request.psn);
        return WcStatus.SUCCESS;
    }

    private boolean scatter(ReceiveQueue receives, int slot, int length) {
        int rest = length;
        for (int i = 0; rest > 0; i++) {
            int part = Math.min(rest, receives.sgeLength(slot, i));
            if (!stream.take(receives.sgeAddress(slot, i), part)) {
                return false;
            }
            rest -= part;
        }
        return true;
    }

    private @Nullable WcStatus atomic(RequestHeader request) {
        long first = stream.bytes().get(Wire.LONG, stream.position());
        long second = stream.bytes().get(Wire.LONG, stream.position() + Long.BYTES);
        stream.skip(Wire.ATOMIC_OPERANDS_SIZE);
        if ((request.remoteAddress & (Long.BYTES - 1)) != 0) {
            return WcStatus.REM_INV_REQ_ERR;
        }
        WcStatus status = check(request, AccessFlag.REMOTE_ATOMIC.bit());
        if (status != WcStatus.SUCCESS) {
            return status;
        }
        if (!flushBefore(0)) {
            return null;
        }
        long before = request.opcode == Wire.FETCH_AND_ADD
                ? NativeMemory.fetchAndAdd(request.remoteAddress, first)
                : NativeMemory.compareAndSwap(request.remoteAddress, first, second);
        replies.addResult(request.opcode, request.psn, before);
        return WcStatus.SUCCESS;
    }

    private WcStatus check(RequestHeader request, int bit) {
        if ((accessBits & bit) == 0) {
            return WcStatus.REM_INV_REQ_ERR;
        }
        return queuePair.regions().permits(request.rkey, request.remoteAddress, request.length, bit)
                ? WcStatus.SUCCESS
                : WcStatus.REM_ACCESS_ERR;
    }

    /**
     * Sends the replies that wait, if this request could change the memory that they come from, or if it is going to wait for
     * {@code length} bytes that have not arrived.
     */
    private boolean flushBefore(int length) {
        return (!replies.hasMemory() && length <= stream.available()) || replies.flush();
    }

    private int awaitReceive() {
        if (!replies.flush()) {
            return ReceiveQueue.NONE;
        }
        responder.quiescence().leave();
        try {
            long start = System.nanoTime();
            long waited = 0;
            while (waited < rnrBudgetNanos && !responder.isStopping() && queuePair.isResponding()) {
                int slot = queuePair.receives().take();
                if (slot != ReceiveQueue.NONE) {
                    return slot;
                }
                queuePair.receives().awaitPosted(Math.min(LONGEST_WAIT_NANOS, rnrBudgetNanos - waited));
                waited = System.nanoTime() - start;
            }
            return queuePair.receives().take();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return ReceiveQueue.NONE;
        } finally {
            responder.quiescence().enter();
        }
    }

    private @Nullable WcStatus notReady() {
        return responder.isStopping() || !queuePair.isResponding() ? null : WcStatus.RNR_RETRY_EXC_ERR;
    }
}
