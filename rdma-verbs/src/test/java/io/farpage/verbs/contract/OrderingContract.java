package io.farpage.verbs.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.verbs.QpOptions;
import io.farpage.verbs.SendFlag;
import org.junit.jupiter.api.Test;

/** What is posted first is done first, and only what is signaled says so. */
public abstract class OrderingContract {
    protected abstract VerbsFixture open();

    @Test
    void shouldReportOnlySignaledWork() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            // Several times around the send queue: unsignaled slots must come free again.
            for (int round = 0; round < 20; round++) {
                for (int i = 0; i < 16; i++) {
                    pair.qpA.prepareRead(
                            i,
                            pair.a.address(i * 64L),
                            64,
                            pair.a.region.lkey(),
                            pair.b.address(i * 64L),
                            pair.b.region.rkey(),
                            i == 15 ? SendFlag.SIGNALED : SendFlag.NONE);
                }
                pair.qpA.postSend();
                pair.a.polling().success(15);
            }
            assertEquals(0, pair.a.polling().pollOnce());
            assertEquals(64, pair.qpA.sendQueueSpace());
        }
    }

    @Test
    void shouldSendNothingBeforeItIsPosted() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            pair.a.fill(0, 64, 1);
            pair.b.fill(0, 64, 2);
            pair.qpA.prepareWrite(
                    1,
                    pair.a.address(0),
                    64,
                    pair.a.region.lkey(),
                    pair.b.address(0),
                    pair.b.region.rkey(),
                    SendFlag.SIGNALED);
            for (int i = 0; i < 1000; i++) {
                assertEquals(0, pair.a.polling().pollOnce());
            }
            assertEquals(-1, pair.b.mismatch(0, 64, 2));
            pair.qpA.postSend();
            pair.a.polling().success(1);
            assertEquals(-1, pair.b.mismatch(0, 64, 1));
        }
    }

    @Test
    void shouldReadWhatWasWrittenBefore() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            for (int i = 0; i < 100; i++) {
                pair.a.fill(0, 4096, i);
                pair.qpA.prepareWrite(
                        1,
                        pair.a.address(0),
                        4096,
                        pair.a.region.lkey(),
                        pair.b.address(0),
                        pair.b.region.rkey(),
                        SendFlag.NONE);
                pair.qpA.prepareRead(
                        2,
                        pair.a.address(8192),
                        4096,
                        pair.a.region.lkey(),
                        pair.b.address(0),
                        pair.b.region.rkey(),
                        SendFlag.SIGNALED);
                pair.qpA.postSend();
                pair.a.polling().success(2);
                assertEquals(-1, pair.a.mismatch(8192, 4096, i));
            }
        }
    }

    @Test
    void shouldNotLetAFencedWritePassARead() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            for (int i = 0; i < 100; i++) {
                pair.b.fill(0, 65536, i);
                pair.a.fill(0, 65536, i + 1);
                pair.qpA.prepareRead(
                        1,
                        pair.a.address(100_000),
                        65536,
                        pair.a.region.lkey(),
                        pair.b.address(0),
                        pair.b.region.rkey(),
                        SendFlag.NONE);
                pair.qpA.prepareWrite(
                        2,
                        pair.a.address(0),
                        65536,
                        pair.a.region.lkey(),
                        pair.b.address(0),
                        pair.b.region.rkey(),
                        SendFlag.SIGNALED | SendFlag.FENCE);
                pair.qpA.postSend();
                pair.a.polling().success(2);
                assertEquals(-1, pair.a.mismatch(100_000, 65536, i));
                assertEquals(-1, pair.b.mismatch(0, 65536, i + 1));
            }
        }
    }

    @Test
    void shouldHoldBackReadsBeyondMaxRdAtomicAndStillDoThemAll() {
        try (Connected pair =
                new Connected(open(), Connected.OPTIONS.withSizes(new QpOptions.Sizes(64, 64, 1, 0, 2)))) {
            pair.b.fill(0, 64 * 1024, 1);
            for (int i = 0; i < 64; i++) {
                pair.qpA.prepareRead(
                        i,
                        pair.a.address(i * 1024L),
                        1024,
                        pair.a.region.lkey(),
                        pair.b.address(i * 1024L),
                        pair.b.region.rkey(),
                        SendFlag.SIGNALED);
            }
            pair.qpA.postSend();
            for (int i = 0; i < 64; i++) {
                pair.a.polling().success(i);
            }
            assertEquals(-1, pair.a.mismatch(0, 64 * 1024, 1));
        }
    }
}
