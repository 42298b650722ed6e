package io.farpage.bench.message;

import com.sun.management.ThreadMXBean;
import io.farpage.agent.data.shard.IdleStrategy;
import io.farpage.agent.data.shard.MessageChannel;
import io.farpage.agent.data.shard.MessageListener;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.guest.command.CommandException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.HdrHistogram.Histogram;

/** Two shards: one asks with 64 bytes, and the other answers with 4160, one message after the other. */
final class PingPong implements AutoCloseable {
    private static final long HIGHEST_NANOS = 100_000_000_000L;
    private static final int DIGITS = 3;
    private static final long START_SECONDS = 30;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private final Asker asker = new Asker();
    private final MessageNode asking;
    private final MessageNode answering;

    /**
     * What a number of round trips took.
     *
     * @param latencies in nanoseconds
     * @param allocatedBytes by the threads of both shards
     */
    record Result(Histogram latencies, long allocatedBytes) {}

    PingPong(IdleStrategy idle, int askerCpu, int answererCpu) throws InterruptedException {
        asking = new MessageNode("asker", idle, askerCpu, asker);
        answering = new MessageNode("answerer", idle, answererCpu, new Answerer());
        MessageNode.connect(asking, answering);
        await(asker.opened, START_SECONDS, "the channel");
    }

    /** Runs round trips; a tenth more before, which do not count. */
    Result run(int count, long seconds) throws InterruptedException {
        runOnce(count / 10 + 1, seconds);
        long before = allocated();
        Histogram latencies = runOnce(count, seconds);
        return new Result(latencies, allocated() - before);
    }

    private Histogram runOnce(int count, long seconds) throws InterruptedException {
        CompletableFuture<Histogram> done = new CompletableFuture<>();
        Histogram empty = new Histogram(HIGHEST_NANOS, DIGITS);
        asking.loop().submit(new ShardCommand.Run(() -> asker.begin(count, empty, done)));
        return await(done, seconds, count + " round trips");
    }

    private long allocated() {
        return threads.getThreadAllocatedBytes(asking.loop().thread().threadId())
                + threads.getThreadAllocatedBytes(answering.loop().thread().threadId());
    }

    private static <T> T await(CompletableFuture<T> done, long seconds, String what) throws InterruptedException {
        try {
            return done.get(seconds, TimeUnit.SECONDS);
        } catch (TimeoutException | ExecutionException e) {
            throw new CommandException(what + ": not within " + seconds + " s: " + e, e);
        }
    }

    @Override
    public void close() {
        asking.close();
        answering.close();
    }

    private static final class Asker implements MessageListener {
        private final CompletableFuture<MessageChannel> opened = new CompletableFuture<>();
        private CompletableFuture<Histogram> done = new CompletableFuture<>();
        private Histogram latencies = new Histogram(HIGHEST_NANOS, DIGITS);
        private int left;
        private long askedAt;

        void begin(int count, Histogram into, CompletableFuture<Histogram> whenDone) {
            done = whenDone;
            latencies = into;
            left = count;
            ask(opened.join());
        }

        private void ask(MessageChannel channel) {
            askedAt = System.nanoTime();
            channel.claim().set(ValueLayout.JAVA_LONG, MessageChannel.PLANE_BYTES, left);
            channel.send(MessageChannel.HEADER_BYTES);
        }

        @Override
        public void onOpened(MessageChannel channel) {
            opened.complete(channel);
        }

        @Override
        public void onMessage(MessageChannel channel, MemorySegment answer) {
            latencies.recordValue(System.nanoTime() - askedAt);
            if (answer.byteSize() != MessageChannel.MAX_BYTES
                    || answer.get(ValueLayout.JAVA_LONG, MessageChannel.PLANE_BYTES) != left) {
                done.completeExceptionally(new IllegalStateException("an answer is not to what was asked"));
            } else if (--left > 0) {
                ask(channel);
            } else {
                done.complete(latencies);
            }
        }

        @Override
        public void onClosed(MessageChannel channel) {
            done.completeExceptionally(new IllegalStateException(channel + " was closed"));
        }
    }

    private static final class Answerer implements MessageListener {
        @Override
        public void onOpened(MessageChannel channel) {}

        @Override
        public void onMessage(MessageChannel channel, MemorySegment question) {
            MemorySegment answer = channel.claim();
            answer.set(
                    ValueLayout.JAVA_LONG,
                    MessageChannel.PLANE_BYTES,
                    question.get(ValueLayout.JAVA_LONG, MessageChannel.PLANE_BYTES));
            channel.send(MessageChannel.MAX_BYTES);
        }

        @Override
        public void onClosed(MessageChannel channel) {}
    }
}
