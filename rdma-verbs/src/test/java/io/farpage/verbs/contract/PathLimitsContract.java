package io.farpage.verbs.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.verbs.Mtu;
import io.farpage.verbs.PathLimits;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import org.junit.jupiter.api.Test;

/** Two ends that are configured differently work together within the limits that both were told. */
public abstract class PathLimitsContract {
    private static final int LENGTH = 8192;
    private static final int REQUESTS = 32;

    protected abstract VerbsFixture open();

    private static QpOptions options(Mtu mtu, int maxRdAtomic) {
        return new QpOptions(
                new QpOptions.Sizes(64, 64, 1, 0, maxRdAtomic),
                Connected.OPTIONS.retries(),
                new QpOptions.Path(mtu, 64, 0, 0),
                Connected.OPTIONS.access());
    }

    @Test
    void shouldMoveDataBothWaysWhenMtuAndReadDepthDiffer() {
        try (VerbsFixture fixture = open();
                Side a = new Side(fixture.a());
                Side b = new Side(fixture.b())) {
            QueuePair large = a.queuePair(options(Mtu.MTU_4096, 16));
            QueuePair small = b.queuePair(options(Mtu.MTU_256, 2));
            large.modifyToInit();
            small.modifyToInit();
            large.modifyToRtr(small.endpoint(), PathLimits.of(small.options()));
            small.modifyToRtr(large.endpoint(), PathLimits.of(large.options()));
            large.modifyToRts();
            small.modifyToRts();
            readAndWrite(large, a, b);
            readAndWrite(small, b, a);
        }
    }

    private static void readAndWrite(QueuePair queuePair, Side near, Side far) {
        far.fill(0, REQUESTS * LENGTH, 3);
        near.fill(0, REQUESTS * LENGTH, 4);
        for (int i = 0; i < REQUESTS; i++) {
            long at = (long) i * LENGTH;
            queuePair.prepareRead(
                    i,
                    near.address(at),
                    LENGTH,
                    near.region.lkey(),
                    far.address(at),
                    far.region.rkey(),
                    SendFlag.SIGNALED);
        }
        queuePair.postSend();
        for (int i = 0; i < REQUESTS; i++) {
            near.polling().success(i);
        }
        assertEquals(-1, near.mismatch(0, REQUESTS * LENGTH, 3));
        near.fill(0, REQUESTS * LENGTH, 5);
        for (int i = 0; i < REQUESTS; i++) {
            long at = (long) i * LENGTH;
            queuePair.prepareWrite(
                    i,
                    near.address(at),
                    LENGTH,
                    near.region.lkey(),
                    far.address(at),
                    far.region.rkey(),
                    SendFlag.SIGNALED);
        }
        queuePair.postSend();
        for (int i = 0; i < REQUESTS; i++) {
            near.polling().success(i);
        }
        assertEquals(-1, far.mismatch(0, REQUESTS * LENGTH, 5));
    }
}
