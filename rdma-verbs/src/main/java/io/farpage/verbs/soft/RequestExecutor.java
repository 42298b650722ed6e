package io.farpage.verbs.soft;

import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.WcStatus;
import org.jspecify.annotations.Nullable;

/**
 * Checks and executes requests against registered memory and posted receives, as a NIC's responder does. Owned by one
 * responder.
 */
final class RequestExecutor {
    /** The longest message that is short. */
    private static final int SHORT_BYTES = 16 * 1024;

    private static final long LONGEST_WAIT_NANOS = 100_000_000;

    private final Regions regions;
    private final QpLifecycle lifecycle;
    private final ReceiveSide receives;
    private final ReceiveQueue receiveQueue;
    private final ResponderConnection connection;
    private final RequestStream requests;
    private final ReplyBatch replies;
    private final int accessBits;
    private final long rnrBudgetNanos;
    private final int responderDepth;

    RequestExecutor(
            QpInit init, QpLifecycle lifecycle, ReceiveSide receives, ResponderConnection connection, Hello hello) {
        this.regions = init.regions();
        this.lifecycle = lifecycle;
        this.receives = receives;
        this.receiveQueue = receives.queue();
        this.connection = connection;
        this.requests = connection.requests();
        this.replies = connection.replies();
        QpOptions options = init.options();
        this.accessBits = AccessFlag.bits(options.access());
        this.rnrBudgetNanos = hello.rnrRetry() == 7
                ? Long.MAX_VALUE
                : hello.rnrRetry() * RnrTimer.nanos(options.retries().minRnrTimer());
        this.responderDepth = Math.min(hello.maxRdAtomic(), options.sizes().maxRdAtomic());
    }

    /**
     * Executes {@code request}, whose payload comes next, and adds the reply that it wants if it succeeds.
     *
     * @return success, the refusal to send, or null if the connection ended meanwhile
     */
    @Nullable
    WcStatus execute(RequestHeader request) {
        if (request.opcode == Wire.READ && replies.reads() >= responderDepth) {
            return WcStatus.REM_INV_REQ_ERR; // more at once than both ends agreed on
        }
        return switch (request.opcode) {
            case Wire.READ -> read(request);
            case Wire.WRITE -> write(request);
            default -> send(request);
        };
    }

    /**
     * Whether {@code request} is a message, or asks whether those before it have come, and can be executed without
     * waiting for the peer once its payload has arrived.
     */
    boolean isShort(RequestHeader request) {
        return switch (request.opcode) {
            case Wire.READ -> false;
            case Wire.WRITE -> request.length == 0;
            default -> request.length <= SHORT_BYTES && !receiveQueue.isEmpty();
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
        if (!flushBefore(request.length) || !requests.moveTo(request.remoteAddress, request.length)) {
            return null;
        }
        return succeeded(request);
    }

    private @Nullable WcStatus send(RequestHeader request) {
        int slot = receiveQueue.acquire();
        if (slot == ReceiveQueue.NONE) {
            slot = awaitReceive();
        }
        if (slot == ReceiveQueue.NONE) {
            return notReady();
        }
        RegionTable table = regions.table();
        long space = 0;
        boolean permitted = true;
        for (int i = 0; i < receiveQueue.sgeCount(slot); i++) {
            space += receiveQueue.sgeLength(slot, i);
            permitted &= table.permits(
                    receiveQueue.sgeLkey(slot, i),
                    receiveQueue.sgeAddress(slot, i),
                    receiveQueue.sgeLength(slot, i),
                    AccessFlag.LOCAL_WRITE.bit());
        }
        if (request.length > space) {
            receives.complete(slot, WcStatus.LOC_LEN_ERR, 0);
            return WcStatus.REM_INV_REQ_ERR;
        }
        if (!permitted) {
            receives.complete(slot, WcStatus.LOC_PROT_ERR, 0);
            return WcStatus.REM_OP_ERR;
        }
        if (!flushBefore(request.length) || !scatter(slot, request.length)) {
            receiveQueue.restore(slot);
            return null;
        }
        receives.complete(slot, WcStatus.SUCCESS, request.length);
        return succeeded(request);
    }

    private WcStatus succeeded(RequestHeader request) {
        if (request.isAnswered()) {
            replies.add(request.opcode, WcStatus.SUCCESS, request.psn);
        }
        return WcStatus.SUCCESS;
    }

    private boolean scatter(int slot, int length) {
        int rest = length;
        for (int i = 0; rest > 0; i++) {
            int part = Math.min(rest, receiveQueue.sgeLength(slot, i));
            if (!requests.moveTo(receiveQueue.sgeAddress(slot, i), part)) {
                return false;
            }
            rest -= part;
        }
        return true;
    }

    private WcStatus check(RequestHeader request, int bit) {
        if ((accessBits & bit) == 0) {
            return WcStatus.REM_INV_REQ_ERR;
        }
        return regions.table().permits(request.rkey, request.remoteAddress, request.length, bit)
                ? WcStatus.SUCCESS
                : WcStatus.REM_ACCESS_ERR;
    }

    /**
     * Sends the replies that wait, if this request could change the memory that they come from, or if it is going to
     * wait for {@code length} bytes that have not arrived.
     */
    private boolean flushBefore(int length) {
        return (!replies.hasMemory() && length <= requests.available()) || replies.flush();
    }

    private int awaitReceive() {
        if (!replies.flush()) {
            return ReceiveQueue.NONE;
        }
        connection.quiescence().leave();
        try {
            long start = System.nanoTime();
            long waited = 0;
            while (waited < rnrBudgetNanos && !connection.isStopping() && lifecycle.isResponding()) {
                int slot = receiveQueue.acquire();
                if (slot != ReceiveQueue.NONE) {
                    return slot;
                }
                receiveQueue.awaitPosted(Math.min(LONGEST_WAIT_NANOS, rnrBudgetNanos - waited));
                waited = System.nanoTime() - start;
            }
            return receiveQueue.acquire();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return ReceiveQueue.NONE;
        } finally {
            connection.quiescence().enter();
        }
    }

    private @Nullable WcStatus notReady() {
        return connection.isStopping() || !lifecycle.isResponding() ? null : WcStatus.RNR_RETRY_EXC_ERR;
    }
}
