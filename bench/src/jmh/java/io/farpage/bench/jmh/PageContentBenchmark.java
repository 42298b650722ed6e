package io.farpage.bench.jmh;

import io.farpage.guest.content.PageContent;
import java.lang.foreign.Arena;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What writing and checking a page's content costs, and that it allocates nothing. Run with
 *
 * <pre>mvn -q verify -Pjmh -pl bench -am -DskipTests -Djmh.args="PageContentBenchmark -prof gc"</pre>
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
@Fork(1)
@State(Scope.Thread)
public class PageContentBenchmark {
    private static final long SEED = 7;

    @Param({"4096", "2097152"})
    public int pageSize;

    private final Arena arena = Arena.ofConfined();
    private long address;

    @Setup
    public void fillOnce() {
        address = arena.allocate(pageSize, 4096).address();
        PageContent.fillAt(address, pageSize, SEED, 42);
    }

    @TearDown
    public void free() {
        arena.close();
    }

    @Benchmark
    public void fill() {
        PageContent.fillAt(address, pageSize, SEED, 42);
    }

    @Benchmark
    public long verify() {
        return PageContent.verifyAt(address, pageSize, SEED, 42);
    }

    @Benchmark
    public long verifyEnds() {
        return PageContent.verifyEndsAt(address, pageSize, SEED, 42);
    }
}
