package io.farpage.it.simulation.verbs;

import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.SparseMemory;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.IllegalTransitionException;
import io.farpage.verbs.LinkSecret;
import io.farpage.verbs.PathLimits;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QpState;
import io.farpage.verbs.QueueFullException;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WcOpcode;
import io.farpage.verbs.WcStatus;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;

/**
 * A queue pair. A request travels, is executed at the peer in the order of posting, and its answer travels back. A
 * WRITE that was sent may be executed after its queue pair has failed here, as long as the peer's queue pair is not
 * closed.
 */
final class SimulatedQueuePair implements QueuePair {
    private static final String NOT_OF_AGENTS = "agents post READs and WRITEs alone";

    /** Addresses are those of pools, which stay mapped until the simulation ends. */
    @SuppressWarnings("restricted") // SAFETY: a request is executed after its key, and with it its range, was checked.
    private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private static final long NOT_READY_NANOS = 1_000_000;
    /** What requests for small pages have at most, which travel as fast as those for one. */
    private static final int QUICK_BYTES = 256 << 10;

    private static final int BYTES_PER_NANO = 8;

    private final SimulatedDevice device;
    private final SimulatedDomain domain;
    private final SimulatedCompletions completions;
    private final QpOptions options;
    private final int qpn;
    private final List<Request> prepared = new ArrayList<>();
    private final Deque<Request> posted = new ArrayDeque<>();
    private QpState state = QpState.RESET;
    private int psn;
    private int generation;
    private Optional<QpEndpoint> remote = Optional.empty();
    private Optional<LinkSecret> secret = Optional.empty();
    private long lastArrival;
    private long lastAnswer;
    private boolean closed;
    private boolean isCutShort;

    private static final class Request {
        private final long wrId;
        private final boolean write;
        private final long local;
        private final int length;
        private final long address;
        private final int rkey;
        private final boolean signaled;
        private SparseMemory.Content data = new SparseMemory.Content(0, List.of());
        private boolean answered;
        private WcStatus answer = WcStatus.SUCCESS;

        Request(long wrId, boolean write, long local, int length, long address, int rkey, int flags) {
            this.wrId = wrId;
            this.write = write;
            this.local = local;
            this.length = length;
            this.address = address;
            this.rkey = rkey;
            this.signaled = (flags & SendFlag.SIGNALED) != 0;
        }
    }

    SimulatedQueuePair(
            SimulatedDevice device, SimulatedDomain domain, SimulatedCompletions completions, QpOptions options) {
        this.device = device;
        this.domain = domain;
        this.completions = completions;
        this.options = options;
        qpn = device.add(this);
        psn = device.randomPsn();
    }

    @Override
    public QpEndpoint endpoint() {
        return new QpEndpoint(qpn, SimulatedDevice.port(), device.gid(), psn);
    }

    @Override
    public int qpn() {
        return qpn;
    }

    @Override
    public QpState state() {
        return state;
    }

    @Override
    public QpOptions options() {
        return options;
    }

    private void move(QpState from, QpState to) {
        if (closed) {
            throw new VerbsException(this + " is closed");
        }
        if (state != from) {
            throw new IllegalTransitionException(toString(), state, to);
        }
        state = to;
    }

    @Override
    public void modifyToInit() {
        move(QpState.RESET, QpState.INIT);
    }

    @Override
    public void modifyToRtr(QpEndpoint peer, PathLimits limits) {
        move(QpState.INIT, QpState.RTR);
        remote = Optional.of(peer);
    }

    @Override
    public void requireProof(LinkSecret shared) {
        secret = Optional.of(shared);
    }

    @Override
    public void modifyToRts() {
        move(QpState.RTR, QpState.RTS);
    }

    @Override
    public void modifyToErr() {
        if (!closed) {
            fail(WcStatus.WR_FLUSH_ERR);
        }
    }

    private void fail(WcStatus first) {
        state = QpState.ERR;
        WcStatus status = first;
        while (!posted.isEmpty()) {
            Request request = posted.remove();
            completions.add(this, request.wrId, status, opcode(request), 0);
            status = WcStatus.WR_FLUSH_ERR;
        }
    }

    private static WcOpcode opcode(Request request) {
        return request.write ? WcOpcode.RDMA_WRITE : WcOpcode.RDMA_READ;
    }

    @Override
    public void modifyToReset() {
        state = QpState.RESET;
        posted.clear();
        prepared.clear();
        completions.drop(this);
        remote = Optional.empty();
        secret = Optional.empty();
        generation++;
        psn = device.randomPsn();
    }

    @Override
    public void prepareRead(long wrId, long local, int length, int lkey, long address, int rkey, int flags) {
        prepare(new Request(wrId, false, local, length, address, rkey, flags), lkey, AccessFlag.LOCAL_WRITE);
    }

    @Override
    public void prepareWrite(long wrId, long local, int length, int lkey, long address, int rkey, int flags) {
        prepare(new Request(wrId, true, local, length, address, rkey, flags), lkey, null);
    }

    private void prepare(Request request, int lkey, AccessFlag access) {
        if (sendQueueSpace() <= 0) {
            throw new QueueFullException(
                    toString(), "max_send_wr", options.sizes().maxSendWr());
        }
        if (device.region(lkey)
                .filter(region -> access == null || region.permits(request.local, request.length, access))
                .isEmpty()) {
            throw new IllegalStateException("lkey of " + request.local + " is not registered");
        }
        prepared.add(request);
    }

    @Override
    public void postSend() {
        if (state != QpState.RTS && state != QpState.ERR) {
            prepared.clear();
            throw new VerbsException("post_send on " + this + ": the state is " + state);
        }
        for (Request request : prepared) {
            posted.add(request);
            if (state == QpState.RTS) {
                send(request);
            }
        }
        prepared.clear();
        if (state == QpState.ERR) {
            fail(WcStatus.WR_FLUSH_ERR);
        }
    }

    private void send(Request request) {
        Engine engine = Engine.get();
        if (request.write) {
            request.data = SparseMemory.read(ALL.asSlice(request.local, request.length));
        }
        int sentIn = generation;
        long timeout =
                (4_096L << options.retries().timeout()) * (options.retries().retryCnt() + 1L);
        engine.after(timeout, null, () -> expire(request, sentIn));
        lastArrival = Math.max(
                lastArrival + 300,
                engine.now()
                        + device.fabric().delay(device.node().address(), addressOf(remote.orElseThrow()))
                        + nanosOf(request));
        travel(request, sentIn, lastArrival);
    }

    /** A page of 2 MiB takes a while. */
    private static long nanosOf(Request request) {
        return Math.max(0, request.length - QUICK_BYTES) / BYTES_PER_NANO;
    }

    private void expire(Request request, int sentIn) {
        if (sentIn == generation && !closed && state == QpState.RTS && !request.answered) {
            fail(WcStatus.RETRY_EXC_ERR);
        }
    }

    private void travel(Request request, int sentIn, long arrival) {
        QpEndpoint to = remote.orElseThrow();
        String address = addressOf(to);
        if (device.fabric().isCut(device.node(), address)) {
            return;
        }
        Optional<SimulatedDevice> peer = device.fabric().find(address);
        if (peer.isEmpty()) {
            Engine.get().at(arrival, null, () -> answer(request, sentIn, WcStatus.RETRY_EXC_ERR, address));
            return;
        }
        QpEndpoint from = endpoint();
        Optional<LinkSecret> proof = secret;
        Engine.get().at(arrival, peer.get().node(), () -> {
            if (!isLostWithItsHost()) {
                peer.get()
                        .find(to.qpn())
                        .ifPresentOrElse(
                                other -> other.arrived(this, request, sentIn, from, to, proof),
                                () -> answer(request, sentIn, WcStatus.RETRY_EXC_ERR, address));
            }
        });
    }

    /** A host that dies may have sent a request, or not; what it posted behind one that it has not sent is not sent. */
    private boolean isLostWithItsHost() {
        isCutShort |= device.node().isDead() && Engine.get().oneIn(2);
        return isCutShort;
    }

    private static String addressOf(QpEndpoint endpoint) {
        byte[] raw = endpoint.gid().toBytes();
        return (raw[12] & 255) + "." + (raw[13] & 255) + "." + (raw[14] & 255) + "." + (raw[15] & 255);
    }

    /** A request of the peer, on this side. */
    private void arrived(
            SimulatedQueuePair sender,
            Request request,
            int sentIn,
            QpEndpoint from,
            QpEndpoint to,
            Optional<LinkSecret> proof) {
        String own = device.node().address();
        if (state == QpState.RESET || state == QpState.INIT) {
            Engine.get().after(NOT_READY_NANOS, device.node(), () -> {
                if (!closed) {
                    arrived(sender, request, sentIn, from, to, proof);
                } else {
                    sender.answer(request, sentIn, WcStatus.RETRY_EXC_ERR, own);
                }
            });
            return;
        }
        boolean known = remote.isPresent()
                && remote.get().qpn() == from.qpn()
                && remote.get().psn() == from.psn()
                && addressOf(remote.get()).equals(addressOf(from))
                && psn == to.psn()
                && secret.equals(proof);
        if (closed || state == QpState.ERR || !known) {
            sender.answer(request, sentIn, WcStatus.RETRY_EXC_ERR, own);
            return;
        }
        AccessFlag needed = request.write ? AccessFlag.REMOTE_WRITE : AccessFlag.REMOTE_READ;
        Optional<SimulatedDomain.Region> region = device.region(request.rkey)
                .filter(one -> one.domain() == domain && one.permits(request.address, request.length, needed));
        if (region.isEmpty()) {
            Engine.get().trail().count("request refused");
            Engine.get()
                    .trail()
                    .note(
                            Engine.get().elapsed(),
                            "%s refuses a %s of %d bytes by %s: %s"
                                    .formatted(
                                            device.node(),
                                            request.write ? "WRITE" : "READ",
                                            request.length,
                                            sender.device.node(),
                                            device.describe(request.rkey)));
            device.fabric()
                    .refused(new Fabric.Refusal(
                            device.node(),
                            sender.device.node(),
                            request.write,
                            !request.write && device.isForReading(request.rkey),
                            device.describe(request.rkey)));
            state = QpState.ERR;
            fail(WcStatus.WR_FLUSH_ERR);
            sender.answer(request, sentIn, WcStatus.REM_ACCESS_ERR, own);
            return;
        }
        device.fabric().carried();
        if (request.write) {
            device.fabric().written(device.node(), sender.device.node());
            SparseMemory.write(request.data, ALL.asSlice(request.address, request.length));
        } else {
            request.data = SparseMemory.read(ALL.asSlice(request.address, request.length));
        }
        sender.answer(request, sentIn, WcStatus.SUCCESS, own);
    }

    /** The answer begins to travel. */
    private void answer(Request request, int sentIn, WcStatus status, String from) {
        if (device.fabric().isCut(from, device.node())) {
            return;
        }
        Engine engine = Engine.get();
        lastAnswer = Math.max(
                lastAnswer + 300,
                engine.now() + device.fabric().delay(from, device.node().address()));
        engine.at(lastAnswer, null, () -> {
            if (sentIn != generation || closed || state != QpState.RTS || request.answered) {
                return;
            }
            request.answered = true;
            request.answer = status;
            complete();
        });
    }

    private void complete() {
        while (!posted.isEmpty() && posted.peek().answered) {
            Request request = posted.peek();
            if (request.answer != WcStatus.SUCCESS) {
                fail(request.answer);
                return;
            }
            posted.remove();
            if (!request.write) {
                SparseMemory.write(request.data, ALL.asSlice(request.local, request.length));
            }
            if (request.signaled) {
                completions.add(this, request.wrId, WcStatus.SUCCESS, opcode(request), request.length);
            }
        }
    }

    @Override
    public int sendQueueSpace() {
        return options.sizes().maxSendWr() - posted.size() - prepared.size();
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            state = QpState.RESET;
            generation++;
            posted.clear();
            prepared.clear();
            completions.drop(this);
            device.remove(this);
        }
    }

    @Override
    public String toString() {
        return "qp 0x%06x of %s".formatted(qpn, device);
    }

    @Override
    public void prepareSend(long wrId, long local, int length, int lkey, int flags) {
        throw new UnsupportedOperationException(NOT_OF_AGENTS);
    }

    @Override
    public void appendSge(long local, int length, int lkey) {
        throw new UnsupportedOperationException(NOT_OF_AGENTS);
    }

    @Override
    public void prepareRecv(long wrId, long local, int length, int lkey) {
        throw new UnsupportedOperationException(NOT_OF_AGENTS);
    }

    @Override
    public void appendRecvSge(long local, int length, int lkey) {
        throw new UnsupportedOperationException(NOT_OF_AGENTS);
    }

    @Override
    public void postRecv() {
        throw new UnsupportedOperationException(NOT_OF_AGENTS);
    }
}
