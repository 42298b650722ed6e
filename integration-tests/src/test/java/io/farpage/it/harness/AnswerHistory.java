package io.farpage.it.harness;

import io.farpage.coordinator.model.ClusterId;
import io.farpage.coordinator.model.Epoch;
import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * What several coordinators have answered, in the order of real time. An answer contradicts an earlier one if its
 * request was sent after the earlier one had come, and it is of an earlier epoch or revision; if it is of another
 * cluster; or if two coordinators answer in one epoch. Any thread.
 */
public final class AnswerHistory {
    /** The newest answer that had come when a request was sent. */
    public record Point(long epoch, long revision) {}

    private final Map<Epoch, URI> leaders = new HashMap<>();
    private final Map<Long, Epoch> epochs = new HashMap<>();
    private final Queue<String> contradictions = new ConcurrentLinkedQueue<>();
    private Optional<ClusterId> cluster = Optional.empty();
    private Point newest = new Point(0, 0);
    private long answers;

    /** To be taken before a request is sent. */
    public synchronized Point now() {
        return newest;
    }

    /**
     * Takes an answer.
     *
     * @param sent what {@link #now} was before its request was sent
     * @param by the coordinator that has answered
     */
    public synchronized void answered(Point sent, URI by, ClusterId of, Epoch epoch, long revision) {
        answers++;
        if (cluster.isEmpty()) {
            cluster = Optional.of(of);
        }
        if (!cluster.equals(Optional.of(of))) {
            contradictions.add("%s keeps cluster %s, and not %s".formatted(by, of, cluster.get()));
        }
        URI leader = leaders.computeIfAbsent(epoch, _ -> by);
        if (!leader.equals(by)) {
            contradictions.add("%s and %s both answer in epoch %s".formatted(leader, by, epoch));
        }
        Epoch known = epochs.computeIfAbsent(epoch.number(), _ -> epoch);
        if (!known.equals(epoch)) {
            contradictions.add("%s answers in epoch %s, and there is %s".formatted(by, epoch, known));
        }
        if (epoch.number() < sent.epoch() || revision < sent.revision()) {
            contradictions.add("%s answers in epoch %s with revision %d, after an answer of epoch %d, revision %d"
                    .formatted(by, epoch, revision, sent.epoch(), sent.revision()));
        }
        newest = new Point(Math.max(newest.epoch(), epoch.number()), Math.max(newest.revision(), revision));
    }

    /** What was found. */
    public List<String> contradictions() {
        return List.copyOf(contradictions);
    }

    /** Answers taken. */
    public synchronized long answers() {
        return answers;
    }

    /** Terms in which a coordinator has answered. */
    public synchronized int terms() {
        return leaders.size();
    }
}
