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
 * WRITE or a SEND that was sent may be executed after its queue pair has failed here, as long as the peer's queue pair
 * is not closed. Nothing is executed that was posted behind a request that was lost. Agents send no message for which
 * the peer has no receive, so a SEND that finds none fails the simulation.
 */
final class SimulatedQueuePair implements QueuePair {
    private static final String NOT_OF_AGENTS = "agents post no requests of several pieces";

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
    private final SimulatedCompletions received;
    private final QpOptions options;
    private final int qpn;
    private final List<Request> prepared = new ArrayList<>();
    private final Deque<Request> posted = new ArrayDeque<>();
    private final List<Receive> preparedReceives = new ArrayList<>();
    private final Deque<Receive> receives = new ArrayDeque<>();
    private QpState state = QpState.RESET;
    private int psn;
    private int generation;
    private Optional<QpEndpoint> remote = Optional.empty();
    private Optional<LinkSecret> secret = Optional.empty();
    private long lastArrival;
    private long lastAnswer;
    private boolean closed;
    /** Whether a request was lost, and with it all that is posted behind it. */
    private boolean isCutShort;

    private record Receive(long wrId, long address, int length) {}

    private static final class Request {
        private final long wrId;
        private final WcOpcode opcode;
        private final long local;
        private final int length;
        private final long address;
        private final int rkey;
        private final boolean signaled;
        private SparseMemory.Content data = new SparseMemory.Content(0, List.of());
        private boolean answered;
        private WcStatus answer = WcStatus.SUCCESS;

        Request(long wrId, WcOpcode opcode, long local, int length, long address, int rkey, int flags) {
            this.wrId = wrId;
            this.opcode = opcode;
            this.local = local;
            this.length = length;
            this.address = address;
            this.rkey = rkey;
            this.signaled = (flags & SendFlag.SIGNALED) != 0;
        }

        boolean isRead() {
            return opcode == WcOpcode.RDMA_READ;
        }

        boolean isWrite() {
            return opcode == WcOpcode.RDMA_WRITE;
        }
    }

    SimulatedQueuePair(
            SimulatedDevice device,
            SimulatedDomain domain,
            SimulatedCompletions completions,
            SimulatedCompletions received,
            QpOptions options) {
        this.device = device;
        this.domain = domain;
        this.completions = completions;
        this.received = received;
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
            completions.add(this, request.wrId, status, request.opcode, 0);
            status = WcStatus.WR_FLUSH_ERR;
        }
        flushReceives();
    }

    private void flushReceives() {
        while (!receives.isEmpty()) {
            received.add(this, receives.remove().wrId(), WcStatus.WR_FLUSH_ERR, WcOpcode.RECV, 0);
        }
    }

    @Override
    public void modifyToReset() {
        state = QpState.RESET;
        forget();
        isCutShort = false;
        remote = Optional.empty();
        secret = Optional.empty();
        generation++;
        psn = device.randomPsn();
    }

    private void forget() {
        posted.clear();
        prepared.clear();
        receives.clear();
        preparedReceives.clear();
        completions.drop(this);
        received.drop(this);
    }

    @Override
    public void prepareRead(long wrId, long local, int length, int lkey, long address, int rkey, int flags) {
        prepare(
                new Request(wrId, WcOpcode.RDMA_READ, local, length, address, rkey, flags),
                lkey,
                AccessFlag.LOCAL_WRITE);
    }

    @Override
    public void prepareWrite(long wrId, long local, int length, int lkey, long address, int rkey, int flags) {
        prepare(new Request(wrId, WcOpcode.RDMA_WRITE, local, length, address, rkey, flags), lkey, null);
    }

    @Override
    public void prepareSend(long wrId, long local, int length, int lkey, int flags) {
        prepare(new Request(wrId, WcOpcode.SEND, local, length, 0, 0, flags), lkey, null);
    }

    private void prepare(Request request, int lkey, AccessFlag access) {
        if (sendQueueSpace() <= 0) {
            throw new QueueFullException(
                    toString(), "max_send_wr", options.sizes().maxSendWr());
        }
        checkLocal(request.local, request.length, lkey, access);
        prepared.add(request);
    }

    private void checkLocal(long local, int length, int lkey, AccessFlag access) {
        if (device.region(lkey)
                .filter(region -> access == null || region.permits(local, length, access))
                .isEmpty()) {
            throw new IllegalStateException("lkey of " + local + " is not registered");
        }
    }

    @Override
    public void prepareRecv(long wrId, long local, int length, int lkey) {
        if (receives.size() + preparedReceives.size() >= options.sizes().maxRecvWr()) {
            throw new QueueFullException(
                    toString(), "max_recv_wr", options.sizes().maxRecvWr());
        }
        checkLocal(local, length, lkey, AccessFlag.LOCAL_WRITE);
        preparedReceives.add(new Receive(wrId, local, length));
    }

    @Override
    public void postRecv() {
        if (state == QpState.RESET) {
            preparedReceives.clear();
            throw new VerbsException("post_recv on " + this + ": the state is " + state);
        }
        receives.addAll(preparedReceives);
        preparedReceives.clear();
        if (state == QpState.ERR) {
            flushReceives();
        }
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
        if (!request.isRead()) {
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
        isCutShort |= device.fabric().isCut(device.node(), address);
        if (isCutShort) {
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
        if (request.opcode == WcOpcode.SEND) {
            receive(sender, request, sentIn);
        } else {
            access(sender, request, sentIn);
        }
    }

    /** A SEND goes into the first receive. */
    private void receive(SimulatedQueuePair sender, Request request, int sentIn) {
        Receive into = receives.poll();
        if (into == null || into.length() < request.length) {
            Engine.get()
                    .fail("%s sends a message of %d bytes, and %s has %s"
                            .formatted(
                                    sender.device.node(),
                                    request.length,
                                    this,
                                    into == null ? "no receive" : "a receive of %d bytes".formatted(into.length())));
            return;
        }
        device.fabric().carried();
        SparseMemory.write(request.data, ALL.asSlice(into.address(), request.length));
        received.add(this, into.wrId(), WcStatus.SUCCESS, WcOpcode.RECV, request.length);
        sender.answer(request, sentIn, WcStatus.SUCCESS, device.node().address());
    }

    /** A READ or a WRITE, if its key permits it. */
    private void access(SimulatedQueuePair sender, Request request, int sentIn) {
        String own = device.node().address();
        if (request.length == 0) {
            // No bytes need no key (InfiniBand Architecture Specification, C9-88).
            device.fabric().carried();
            sender.answer(request, sentIn, WcStatus.SUCCESS, own);
            return;
        }
        AccessFlag needed = request.isWrite() ? AccessFlag.REMOTE_WRITE : AccessFlag.REMOTE_READ;
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
                                            request.isWrite() ? "WRITE" : "READ",
                                            request.length,
                                            sender.device.node(),
                                            device.describe(request.rkey)));
            device.fabric()
                    .refused(new Fabric.Refusal(
                            device.node(),
                            sender.device.node(),
                            request.isWrite(),
                            request.isRead() && device.isForReading(request.rkey),
                            device.describe(request.rkey)));
            state = QpState.ERR;
            fail(WcStatus.WR_FLUSH_ERR);
            sender.answer(request, sentIn, WcStatus.REM_ACCESS_ERR, own);
            return;
        }
        device.fabric().carried();
        if (request.isWrite()) {
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
            if (request.isRead()) {
                SparseMemory.write(request.data, ALL.asSlice(request.local, request.length));
            }
            if (request.signaled) {
                completions.add(this, request.wrId, WcStatus.SUCCESS, request.opcode, request.length);
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
            forget();
            device.remove(this);
        }
    }

    @Override
    public String toString() {
        return "qp 0x%06x of %s".formatted(qpn, device);
    }

    @Override
    public void appendSge(long local, int length, int lkey) {
        throw new UnsupportedOperationException(NOT_OF_AGENTS);
    }

    @Override
    public void appendRecvSge(long local, int length, int lkey) {
        throw new UnsupportedOperationException(NOT_OF_AGENTS);
    }
}
