package io.farpage.bench.jmh;

import io.farpage.bench.pattern.PageNumbers;
import io.farpage.bench.pattern.PagePattern;
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
import org.openjdk.jmh.annotations.Warmup;

/**
 * What drawing a page number costs, and that it allocates nothing. Run with
 *
 * <pre>mvn -q verify -Pjmh -pl bench -am -DskipTests -Djmh.args="PageNumbersBenchmark -prof gc"</pre>
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
@Fork(1)
@State(Scope.Thread)
public class PageNumbersBenchmark {
    @Param({"RANDOM", "SEQUENTIAL", "ZIPF"})
    public PagePattern pattern;

    private PageNumbers numbers;

    @Setup
    public void start() {
        numbers = pattern.over(1 << 20, 7, 0.99);
    }

    @Benchmark
    public long next() {
        return numbers.next();
    }
}
