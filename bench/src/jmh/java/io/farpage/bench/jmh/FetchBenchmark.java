package io.farpage.bench.jmh;

import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.Priority;
import io.farpage.agent.data.shard.Shard;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures the time and the allocation of one page fetch by a shard over the soft provider. The home's responder runs
 * in the same JVM. Needs two CPUs. Run with
 *
 * <pre>mvn -q verify -Pjmh -pl bench -am -DskipTests -Djmh.args="FetchBenchmark -prof gc"</pre>
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = "-XX:+UseSerialGC")
@State(Scope.Thread)
public class FetchBenchmark {
    private static final int PAGE = 4096;
    private static final int PAGES = 512;
    private static final int WINDOW = 32;

    private final SoftLink softLink = new SoftLink();
    private final Shard shard = softLink.shard();
    private final Fetcher fetcher = shard.newFetcher(WINDOW, TimeUnit.SECONDS.toNanos(5));
    private int page;

    @TearDown
    public void close() {
        softLink.close();
    }

    @Benchmark
    public void one() {
        ask(0);
        take(1);
    }

    @Benchmark
    @OperationsPerInvocation(WINDOW)
    public void window() {
        for (int i = 0; i < WINDOW; i++) {
            ask(i);
        }
        take(WINDOW);
    }

    /** A turn that finds nothing to do. */
    @Benchmark
    public int idleTurn() {
        return shard.doWork();
    }

    private void ask(int buffer) {
        page = page + 1 == PAGES ? 0 : page + 1;
        fetcher.read(
                Priority.DEMAND,
                softLink.link(),
                SoftLink.INCARNATION,
                (long) page * PAGE,
                PAGE,
                softLink.stagingAddress() + (long) buffer * PAGE);
    }

    private void take(int count) {
        for (int taken = 0; taken < count; ) {
            shard.doWork();
            for (int slot = fetcher.poll(); slot != Fetcher.NONE; slot = fetcher.poll()) {
                fetcher.release(slot);
                taken++;
            }
        }
    }
}
