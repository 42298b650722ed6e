package io.farpage.verbs.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WcOpcode;
import io.farpage.verbs.WorkCompletion;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One-sided READ and WRITE move the bytes they name, and no others. */
public abstract class ReadWriteContract {
    protected abstract VerbsFixture open();

    @ParameterizedTest
    @ValueSource(ints = {1, 15, 4096, 4097, 65536, 300_000})
    void shouldReadThePeersMemory(int length) {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            pair.b.fill(100, length, 1);
            pair.a.fill(0, Side.MEMORY, 2);
            pair.qpA.prepareRead(
                    7,
                    pair.a.address(8),
                    length,
                    pair.a.region.lkey(),
                    pair.b.address(100),
                    pair.b.region.rkey(),
                    SendFlag.SIGNALED);
            pair.qpA.postSend();
            WorkCompletion completion = pair.a.polling().success(7);
            assertEquals(WcOpcode.RDMA_READ, completion.opcode());
            assertEquals(length, completion.byteLength());
            assertEquals(pair.qpA.qpn(), completion.qpn());
            assertEquals(-1, pair.a.mismatch(8, length, 1));
            assertEquals(-1, pair.a.mismatch(0, 8, 2));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 15, 4096, 4097, 65536, 300_000})
    void shouldWriteThePeersMemory(int length) {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            pair.a.fill(100, length, 1);
            pair.b.fill(0, 8, 2);
            pair.qpA.prepareWrite(
                    7,
                    pair.a.address(100),
                    length,
                    pair.a.region.lkey(),
                    pair.b.address(8),
                    pair.b.region.rkey(),
                    SendFlag.SIGNALED);
            pair.qpA.postSend();
            assertEquals(WcOpcode.RDMA_WRITE, pair.a.polling().success(7).opcode());
            assertEquals(-1, pair.b.mismatch(8, length, 1));
            assertEquals(-1, pair.b.mismatch(0, 8, 2));
        }
    }

    @Test
    void shouldCompleteManyReadsInOrder() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            int pages = 48;
            for (int i = 0; i < pages; i++) {
                pair.b.fill(i * 4096L, 4096, i);
            }
            for (int i = 0; i < pages; i++) {
                pair.qpA.prepareRead(
                        i,
                        pair.a.address(i * 4096L),
                        4096,
                        pair.a.region.lkey(),
                        pair.b.address(i * 4096L),
                        pair.b.region.rkey(),
                        SendFlag.SIGNALED);
            }
            pair.qpA.postSend();
            for (int i = 0; i < pages; i++) {
                pair.a.polling().success(i);
                assertEquals(-1, pair.a.mismatch(i * 4096L, 4096, i));
            }
        }
    }

    @Test
    void shouldReadBothWaysAtOnce() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            pair.a.fill(0, 4096, 3);
            pair.b.fill(0, 4096, 4);
            for (int i = 0; i < 100; i++) {
                pair.qpA.prepareRead(
                        i,
                        pair.a.address(8192),
                        4096,
                        pair.a.region.lkey(),
                        pair.b.address(0),
                        pair.b.region.rkey(),
                        SendFlag.SIGNALED);
                pair.qpB.prepareRead(
                        i,
                        pair.b.address(8192),
                        4096,
                        pair.b.region.lkey(),
                        pair.a.address(0),
                        pair.a.region.rkey(),
                        SendFlag.SIGNALED);
                pair.qpA.postSend();
                pair.qpB.postSend();
                pair.a.polling().success(i);
                pair.b.polling().success(i);
            }
            assertEquals(-1, pair.a.mismatch(8192, 4096, 4));
            assertEquals(-1, pair.b.mismatch(8192, 4096, 3));
        }
    }

    @Test
    void shouldCompleteOperationsOfZeroBytesWithAnyKey() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            pair.qpA.prepareRead(1, pair.a.address(0), 0, pair.a.region.lkey(), 0, 0, SendFlag.SIGNALED);
            pair.qpA.prepareWrite(2, pair.a.address(0), 0, pair.a.region.lkey(), 0, 0, SendFlag.SIGNALED);
            pair.qpA.postSend();
            pair.a.polling().success(1);
            pair.a.polling().success(2);
        }
    }
}
