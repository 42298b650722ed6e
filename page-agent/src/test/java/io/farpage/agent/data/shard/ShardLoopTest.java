package io.farpage.agent.data.shard;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.Errno;
import io.farpage.linux.EventFd;
import io.farpage.linux.ThreadScheduling;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A shard's thread with sources that look at their descriptors as pagers do. */
final class ShardLoopTest {
    private static final int SOURCES = 20;
    private static final int SIGNALS = 200;

    /** Does not look at its descriptor in a duty cycle before which that was not readable. */
    private static final class Source implements DutyCycle {
        private final EventFd descriptor = new EventFd();
        private final AtomicInteger asked = new AtomicInteger();
        private final AtomicInteger served = new AtomicInteger();
        private boolean isIdle;

        void ask() {
            asked.incrementAndGet();
            descriptor.signal(Errno.create());
        }

        @Override
        public int doWork() {
            boolean looks = !isIdle;
            isIdle = false;
            if (looks) {
                descriptor.drain(Errno.ofThread());
            }
            int before = served.get();
            int now = looks ? asked.get() : before;
            served.set(now);
            return now - before;
        }

        @Override
        public int fileDescriptor() {
            return descriptor.fd();
        }

        @Override
        public void polled(boolean isReadable) {
            isIdle = !isReadable;
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldServeEachOfManySourcesThatIsSignalled(IdleStrategy idle) {
        Shard shard = new Shard(List.of(), Arena.ofAuto().allocate(1), System::nanoTime, () -> {});
        List<Source> sources = Stream.generate(Source::new).limit(SOURCES).toList();
        sources.forEach(source -> shard.submit(new ShardCommand.AddCycle(source)));
        try (ShardLoop loop = new ShardLoop(
                shard,
                new ShardLoop.Options(
                        "shard-test",
                        idle,
                        Duration.ofNanos(50_000),
                        OptionalInt.empty(),
                        ThreadScheduling.ordinary()))) {
            loop.start();
            for (int signal = 0; signal < SIGNALS; signal++) {
                Source source = sources.get(signal * 7 % SOURCES);
                source.ask();
                Deadlines.await("source " + signal * 7 % SOURCES, Deadlines.LONG)
                        .pollInterval(Duration.ofNanos(100_000))
                        .until(() -> source.served.get() == source.asked.get());
            }
        }
        sources.forEach(source -> source.descriptor.close());
    }
}
