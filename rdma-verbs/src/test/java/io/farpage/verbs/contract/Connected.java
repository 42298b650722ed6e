package io.farpage.verbs.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QpState;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import java.util.Set;

/** Two sides with one pair of connected queue pairs between them. */
final class Connected implements AutoCloseable {
    /** Enough of everything for a test; gives up on a dead peer after about half a second. */
    static final QpOptions OPTIONS = QpOptions.DEFAULT.withSizes(new QpOptions.Sizes(64, 64, 1, 0, 16));

    /** {@link #OPTIONS} with other retries. */
    static QpOptions withRetries(int timeout, int retryCnt, int rnrRetry, int minRnrTimer) {
        QpOptions.Retries retries = new QpOptions.Retries(timeout, retryCnt, rnrRetry, minRnrTimer);
        return new QpOptions(OPTIONS.sizes(), retries, OPTIONS.path(), OPTIONS.access());
    }

    /** {@link #OPTIONS} with other permissions of the peer. */
    static QpOptions withAccess(Set<AccessFlag> access) {
        return new QpOptions(OPTIONS.sizes(), OPTIONS.retries(), OPTIONS.path(), access);
    }

    final VerbsFixture fixture;
    final Side a;
    final Side b;
    final QueuePair qpA;
    final QueuePair qpB;

    Connected(VerbsFixture fixture, QpOptions options) {
        this(fixture, options, options);
    }

    Connected(VerbsFixture fixture, QpOptions optionsA, QpOptions optionsB) {
        this.fixture = fixture;
        this.a = new Side(fixture.a());
        this.b = new Side(fixture.b());
        this.qpA = a.queuePair(optionsA);
        this.qpB = b.queuePair(optionsB);
        connect(qpA, qpB);
    }

    /** Takes both from RESET to RTS. */
    static void connect(QueuePair one, QueuePair other) {
        one.modifyToInit();
        other.modifyToInit();
        one.modifyToRtr(other.endpoint());
        other.modifyToRtr(one.endpoint());
        one.modifyToRts();
        other.modifyToRts();
    }

    /** Posts a READ from B's memory into A's and returns at once. */
    void read(long wrId, long from, long into, int length) {
        qpA.prepareRead(
                wrId, a.address(into), length, a.region.lkey(), b.address(from), b.region.rkey(), SendFlag.SIGNALED);
        qpA.postSend();
    }

    /** Posts a WRITE from A's memory into B's and returns at once. */
    void write(long wrId, long from, long into, int length) {
        qpA.prepareWrite(
                wrId, a.address(from), length, a.region.lkey(), b.address(into), b.region.rkey(), SendFlag.SIGNALED);
        qpA.postSend();
    }

    /** Posts a SEND from A's memory and returns at once. */
    void send(long wrId, long from, int length) {
        qpA.prepareSend(wrId, a.address(from), length, a.region.lkey(), SendFlag.SIGNALED);
        qpA.postSend();
    }

    /** Posts a receive at B. */
    void receive(long wrId, long into, int length) {
        qpB.prepareRecv(wrId, b.address(into), length, b.region.lkey());
        qpB.postRecv();
    }

    /** Shows that the pair works, by a READ. */
    void requireWorking() {
        b.fill(512_000, 4096, 77);
        read(0xF00D, 512_000, 512_000, 4096);
        a.polling().success(0xF00D);
        assertEquals(-1, a.mismatch(512_000, 4096, 77));
    }

    /** Waits until {@code queuePair} is in ERR. */
    static void awaitError(QueuePair queuePair) {
        Deadlines.await("the queue pair is in error", Polling.PATIENCE).until(() -> queuePair.state() == QpState.ERR);
    }

    @Override
    public void close() {
        a.close();
        b.close();
        fixture.close();
    }
}
