package io.farpage.agent.data.shard;

import io.farpage.verbs.CompletionChannel;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.util.stream.Stream;

/** One device as one shard uses it: the completion queue that all the shard's queue pairs on the device complete to. */
public final class Rail {
    private static final int BATCH = 32;

    private final String name;
    private final CompletionQueue completionQueue;
    private final CompletionChannel channel;
    private final int stagingLkey;
    private final int maxPolls;
    private volatile boolean failed;
    private final Counter[] errors =
            Stream.generate(Counter::new).limit(WcStatus.values().length).toArray(Counter[]::new);
    private final WorkCompletion[] batch = WorkCompletion.array(BATCH);

    /**
     * @param name the device's name, for messages
     * @param completionQueue polled by the shard's thread only
     * @param channel wakes the shard's thread
     * @param stagingLkey key of the pool's staging frames on this device
     * @param maxPolls how often a spinning duty cycle polls the completion queue while transfers are under way: often
     *     where a poll is a load from memory, less often where it is a system call
     */
    public Rail(
            String name, CompletionQueue completionQueue, CompletionChannel channel, int stagingLkey, int maxPolls) {
        this.name = name;
        this.completionQueue = completionQueue;
        this.channel = channel;
        this.stagingLkey = stagingLkey;
        this.maxPolls = maxPolls;
    }

    public String name() {
        return name;
    }

    public CompletionQueue completionQueue() {
        return completionQueue;
    }

    CompletionChannel channel() {
        return channel;
    }

    int stagingLkey() {
        return stagingLkey;
    }

    int maxPolls() {
        return maxPolls;
    }

    /** The completion queue has failed and cannot be polled. The shard's thread. */
    void fail() {
        failed = true;
    }

    /** Whether the completion queue has failed. Any thread. */
    public boolean hasFailed() {
        return failed;
    }

    /** Counts a completion that reports a failure. The shard's thread. */
    void failed(WcStatus status) {
        errors[status.ordinal()].add(1);
    }

    /** Completions with a status so far. Any thread; those with SUCCESS are not counted. */
    public long errors(WcStatus status) {
        return errors[status.ordinal()].get();
    }

    WorkCompletion[] batch() {
        return batch;
    }
}
