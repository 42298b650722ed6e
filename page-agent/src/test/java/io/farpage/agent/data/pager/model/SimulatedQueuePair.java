package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.model.SimulatedNetwork.Transfer;
import io.farpage.verbs.LinkSecret;
import io.farpage.verbs.PathLimits;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QpState;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.WcStatus;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * A queue pair in RTS, of a simulated network. It throws for operations that no pager uses, such as SEND.
 */
final class SimulatedQueuePair implements QueuePair {
    private static final int SPACE = 64;

    private final int number;
    private final SimulatedNetwork network;
    private final List<Transfer> prepared = new ArrayList<>();
    private QpState state = QpState.RTS;

    SimulatedQueuePair(int number, SimulatedNetwork network) {
        this.number = number;
        this.network = network;
    }

    @Override
    public int qpn() {
        return number;
    }

    @Override
    public QpState state() {
        return state;
    }

    @Override
    public int sendQueueSpace() {
        return SPACE - prepared.size();
    }

    @Override
    public void prepareRead(
            long wrId, long localAddress, int length, int lkey, long remoteAddress, int rkey, int flags) {
        prepare(wrId, false, localAddress, length, remoteAddress);
    }

    @Override
    public void prepareWrite(
            long wrId, long localAddress, int length, int lkey, long remoteAddress, int rkey, int flags) {
        prepare(wrId, true, localAddress, length, remoteAddress);
    }

    private void prepare(long wrId, boolean write, long local, int length, long remote) {
        int pageBytes = network.pageBytes();
        int pages = Math.ceilDiv(length, pageBytes);
        prepared.add(new Transfer(wrId, write, local, remote, pageBytes, pages, new BitSet()));
    }

    @Override
    public void postSend() {
        prepared.forEach(network::post);
        prepared.clear();
        if (state == QpState.ERR) {
            network.flush(WcStatus.WR_FLUSH_ERR);
        }
    }

    /** Whether requests wait to be posted. */
    boolean hasPrepared() {
        return !prepared.isEmpty();
    }

    /** The process that has it is killed: what it has prepared is never posted. */
    void kill() {
        prepared.clear();
        fail();
    }

    /** The link breaks. */
    void fail() {
        state = QpState.ERR;
        network.flush(WcStatus.RETRY_EXC_ERR);
    }

    @Override
    public void modifyToErr() {
        state = QpState.ERR;
        network.flush(WcStatus.WR_FLUSH_ERR);
    }

    @Override
    public void close() {
        modifyToErr();
    }

    @Override
    public QpEndpoint endpoint() {
        throw new UnsupportedOperationException();
    }

    @Override
    public QpOptions options() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void modifyToInit() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void requireProof(LinkSecret secret) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void modifyToRtr(QpEndpoint remote, PathLimits peer) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void modifyToRts() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void modifyToReset() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void prepareSend(long wrId, long localAddress, int length, int lkey, int flags) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void appendSge(long localAddress, int length, int lkey) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void prepareRecv(long wrId, long localAddress, int length, int lkey) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void appendRecvSge(long localAddress, int length, int lkey) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void postRecv() {
        throw new UnsupportedOperationException();
    }
}
