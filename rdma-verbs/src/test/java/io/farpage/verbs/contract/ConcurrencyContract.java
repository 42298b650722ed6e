package io.farpage.verbs.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Threads that each own a queue pair do not disturb one another. */
public abstract class ConcurrencyContract {
    private static final int THREADS = 4;
    private static final int ROUNDS = 500;

    protected abstract VerbsFixture open();

    @Test
    void shouldServeSeveralThreadsAtOnce() throws InterruptedException, ExecutionException {
        try (VerbsFixture fixture = open();
                Side a = new Side(fixture.a());
                Side b = new Side(fixture.b());
                ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            b.fill(0, 4096 * THREADS, 1);
            List<Future<?>> done = new ArrayList<>();
            for (int t = 0; t < THREADS; t++) {
                long offset = 4096L * t;
                CompletionQueue queue = a.keep(a.device.createCompletionQueue(256));
                QueuePair caller = a.keep(a.domain.createQueuePair(queue, queue, Connected.OPTIONS));
                Connected.connect(caller, b.queuePair(Connected.OPTIONS));
                done.add(threads.submit(() -> {
                    Polling polling = new Polling(queue);
                    for (int i = 0; i < ROUNDS; i++) {
                        caller.prepareRead(
                                i,
                                a.address(offset),
                                4096,
                                a.region.lkey(),
                                b.address(offset),
                                b.region.rkey(),
                                SendFlag.SIGNALED);
                        caller.postSend();
                        polling.success(i);
                    }
                }));
            }
            for (Future<?> one : done) {
                one.get();
            }
            assertEquals(-1, a.mismatch(0, 4096 * THREADS, 1));
        }
    }

    @Test
    void shouldDeregisterARegionWhileItIsBeingRead() throws InterruptedException, ExecutionException {
        for (int round = 0; round < 20; round++) {
            try (Connected pair = new Connected(open(), Connected.OPTIONS);
                    ExecutorService threads = Executors.newSingleThreadExecutor()) {
                MemorySegment memory = pair.b.allocate(65536);
                MemoryRegion region = pair.b.register(memory, EnumSet.of(AccessFlag.REMOTE_READ));
                Future<WorkCompletion> end = threads.submit(() -> {
                    while (true) {
                        pair.qpA.prepareRead(
                                1,
                                pair.a.address(0),
                                65536,
                                pair.a.region.lkey(),
                                memory.address(),
                                region.rkey(),
                                SendFlag.SIGNALED);
                        pair.qpA.postSend();
                        WorkCompletion completion = pair.a.polling().next();
                        if (!completion.isSuccess()) {
                            return completion;
                        }
                    }
                });
                region.close();
                assertTrue(
                        pair.fixture
                                .reported(WcStatus.REM_ACCESS_ERR)
                                .contains(end.get().status()),
                        end.get()::toString);
            }
        }
    }

    @Test
    void shouldCloseOneQueuePairWhileAnotherOfTheSameQueueIsPolled() throws InterruptedException, ExecutionException {
        try (Connected pair = new Connected(open(), Connected.OPTIONS);
                ExecutorService threads = Executors.newSingleThreadExecutor()) {
            Future<Integer> polled = threads.submit(() -> {
                int count = 0;
                for (int i = 0; i < 2000; i++) {
                    pair.read(i, 0, 0, 4096);
                    pair.a.polling().success(i);
                    count++;
                }
                return count;
            });
            int closed = 0;
            while (!polled.isDone()) {
                try (QueuePair passing =
                        pair.a.domain.createQueuePair(pair.a.completions, pair.a.completions, Connected.OPTIONS)) {
                    passing.modifyToInit();
                    closed++;
                }
            }
            assertEquals(2000, polled.get());
            assertTrue(closed > 0);
        }
    }
}
