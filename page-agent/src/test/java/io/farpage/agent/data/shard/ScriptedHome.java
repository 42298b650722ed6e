package io.farpage.agent.data.shard;

import io.farpage.pool.header.PoolHeader;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.WcOpcode;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * A home that answers when and as the test demands: too late, twice, or with the number of an earlier request. A device
 * of the real providers does not do that on demand.
 */
final class ScriptedHome extends PolledQueue {
    static final String NODE = "home";
    static final long INCARNATION = 7;
    static final long BYTES = 1 << 20;
    static final int SPACE = 35;

    private final MemorySegment headerFrame;
    private final Deque<Answer> answers = new ArrayDeque<>();
    /** Work request ids in the order in which they were posted. */
    final List<Long> posted = new ArrayList<>();

    private record Answer(long wrId, WcStatus status) {}

    /** @param headerFrame where the shard reads the header of its only peer to */
    ScriptedHome(MemorySegment headerFrame) {
        this.headerFrame = headerFrame;
    }

    Rail rail() {
        return new Rail("scripted", this, this, 0, 1);
    }

    PeerMemory memory() {
        return new PeerMemory(
                INCARNATION,
                0,
                0,
                "scripted",
                GrantedRanges.of(List.of(new GrantedRanges.Range(0, BYTES, 1L << 40, 0))));
    }

    /** A queue pair in RTS, which accepts requests and answers none by itself. */
    QueuePair queuePair() {
        List<Long> prepared = new ArrayList<>();
        return (QueuePair) Proxy.newProxyInstance(
                QueuePair.class.getClassLoader(),
                new Class<?>[] {QueuePair.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "prepareRead", "prepareWrite" -> {
                        if (prepared.size() == SPACE) {
                            throw new IllegalStateException("the send queue is full");
                        }
                        prepared.add((Long) arguments[0]);
                        yield null;
                    }
                    case "postSend" -> {
                        posted.addAll(prepared);
                        prepared.clear();
                        yield null;
                    }
                    case "sendQueueSpace" -> SPACE - prepared.size();
                    case "modifyToErr", "close" -> null;
                    case "toString" -> "scripted queue pair";
                    default -> throw new UnsupportedOperationException(method.getName());
                });
    }

    /** Answers a request. */
    void answer(long wrId, WcStatus status) {
        answers.add(new Answer(wrId, status));
    }

    /** Answers the READ of the pool header, with the header of this home. */
    void answerHeader(long wrId) {
        new PoolHeader(NODE, INCARNATION, 4096, BYTES).writeTo(headerFrame);
        answer(wrId, WcStatus.SUCCESS);
    }

    @Override
    public int poll(WorkCompletion[] into) {
        int count = 0;
        while (count < into.length && !answers.isEmpty()) {
            Answer next = answers.remove();
            into[count++].set(next.wrId(), next.status(), WcOpcode.RDMA_READ, 0, 0, 1);
        }
        return count;
    }
}
