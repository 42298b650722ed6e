package io.farpage.agent.control;

import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardLoop;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the threads that move pages, one after the other, whether they still run their duty cycles: each gets a command
 * that it has to carry out. A thread is asked again only after it has answered, so that a stuck one does not collect
 * commands. {@link #ask} belongs to one thread; any thread may look at the results.
 */
public final class ShardPulse {
    /** A thread that has not answered for this time is stuck. */
    public static final Duration DEADLINE = Duration.ofSeconds(3);

    private static final Logger log = LoggerFactory.getLogger(ShardPulse.class);
    private static final int FRAMES = 4;

    private final List<Asked> shards;

    /** A thread, and since when it owes an answer. */
    private static final class Asked {
        private final ShardLoop loop;
        /** When the question was put that has no answer yet. */
        private final AtomicReference<Optional<Instant>> since = new AtomicReference<>(Optional.empty());
        /** Whether the log has it. Only {@link ShardPulse#ask} uses it. */
        private boolean logged;

        Asked(ShardLoop loop) {
            this.loop = loop;
        }
    }

    /**
     * A thread that does not answer.
     *
     * @param thread its name
     * @param since when it was asked
     * @param where the innermost calls of the thread now, without those of the JDK, the innermost first
     */
    public record Stuck(String thread, Instant since, String where) {
        @Override
        public String toString() {
            return "%s has not answered since %s; it is in %s".formatted(thread, since, where);
        }
    }

    /** Makes it for the threads of an agent. */
    public ShardPulse(List<ShardLoop> loops) {
        shards = loops.stream().map(Asked::new).toList();
    }

    /**
     * Asks each thread that has answered the last question, and logs threads that have become stuck or answer again.
     */
    public void ask() {
        for (Asked shard : shards) {
            if (shard.since.get().isPresent()) {
                if (!shard.logged) {
                    stuck(shard).ifPresent(found -> {
                        log.error("faults of guests are not served: {}", found);
                        shard.logged = true;
                    });
                }
                continue;
            }
            if (shard.logged) {
                log.warn("{} answers again", shard.loop.thread().getName());
                shard.logged = false;
            }
            shard.since.set(Optional.of(Instant.now()));
            shard.loop.submit(new ShardCommand.Run(() -> shard.since.set(Optional.empty())));
        }
    }

    /** The threads that are stuck now. */
    public List<Stuck> stuck() {
        return shards.stream().map(ShardPulse::stuck).flatMap(Optional::stream).toList();
    }

    /** How many threads there are. */
    public int size() {
        return shards.size();
    }

    private static Optional<Stuck> stuck(Asked shard) {
        return shard.since
                .get()
                .filter(asked -> asked.plus(DEADLINE).isBefore(Instant.now()))
                .map(asked -> new Stuck(shard.loop.thread().getName(), asked, where(shard.loop.thread())));
    }

    private static String where(Thread thread) {
        StackTraceElement[] calls = thread.getStackTrace();
        List<String> own = Stream.of(calls)
                .filter(call -> !"java.base".equals(call.getModuleName()))
                .limit(FRAMES)
                .map(StackTraceElement::toString)
                .toList();
        return own.isEmpty() ? "no call of its own: " + thread.getState() : String.join(" < ", own);
    }
}
