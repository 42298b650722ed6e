package io.farpage.it.harness;

import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorNotObeyedException;
import io.farpage.coordinator.model.Seen;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.tls.Credentials;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Collectors;

/**
 * A client that creates and deletes spaces and remembers what was acknowledged. A change whose answer is missing may
 * have been made or not; once either was seen it must stay so. One thread changes; any thread asks.
 */
public final class AcknowledgedChanges implements AutoCloseable {
    private static final int PAGE = 4096;
    private static final int MOST = 24;
    private static final int CHECKS = 2;
    private static final Duration PAUSE = Duration.ofMillis(10);
    private static final Duration DEADLINE = Duration.ofSeconds(5);

    private final String name;
    private final List<String> homes;
    private final AnswerHistory history;
    private final CoordinatorClient client;
    private final Map<String, Long> present = new HashMap<>();
    private final Set<String> deleted = new HashSet<>();
    /** Spaces with a change that has no answer, with the number of checks since. */
    private final Map<String, Integer> unknown = new HashMap<>();

    private final List<String> lost = new ArrayList<>();
    private final Recurring changing;
    private int made;
    private long acknowledged;
    private long unanswered;
    private long lastNanos = System.nanoTime();
    private long longestNanos;

    /**
     * Begins.
     *
     * @param name what the names of its spaces begin with
     */
    public AcknowledgedChanges(
            String name, List<URI> coordinators, List<String> homes, AnswerHistory history, long seed) {
        this.name = name;
        this.homes = homes;
        this.history = history;
        Allegiance allegiance = new Allegiance();
        allegiance.join();
        client = new CoordinatorClient(coordinators, DEADLINE, allegiance, Credentials.NONE);
        SplittableRandom random = new SplittableRandom(seed);
        changing = new Recurring("changes-" + name, PAUSE, () -> change(random));
    }

    private void change(SplittableRandom random) {
        Optional<String> victim = victim(random);
        String space = victim.orElseGet(() -> name + "-" + made++);
        AnswerHistory.Point sent = history.now();
        try {
            if (victim.isPresent()) {
                client.deleteSpace(space);
                deleted(space);
            } else {
                created(client.createSpace(new SpaceRequest(
                        space,
                        2L * PAGE,
                        OptionalInt.of(PAGE),
                        Optional.of(List.of(homes.get(random.nextInt(homes.size())))))));
            }
            Seen seen = client.allegiance().status().seen().orElseThrow();
            history.answered(sent, client.base(), seen.cluster(), seen.epoch(), seen.revision());
        } catch (CoordinatorException e) {
            unanswered(space, e);
        }
    }

    private synchronized Optional<String> victim(SplittableRandom random) {
        if (present.isEmpty() || (present.size() < MOST && random.nextBoolean())) {
            return Optional.empty();
        }
        List<String> all = present.keySet().stream().sorted().toList();
        String victim = all.get(random.nextInt(all.size()));
        present.remove(victim);
        return Optional.of(victim);
    }

    private synchronized void created(Space space) {
        present.put(space.name(), space.id());
        acknowledged();
    }

    private synchronized void deleted(String space) {
        deleted.add(space);
        acknowledged();
    }

    private void acknowledged() {
        acknowledged++;
        long now = System.nanoTime();
        longestNanos = Math.max(longestNanos, now - lastNanos);
        lastNanos = now;
    }

    private synchronized void unanswered(String space, CoordinatorException e) {
        unanswered++;
        unknown.put(space, 0);
        if (e instanceof CoordinatorNotObeyedException) {
            lost.add("contradiction: " + e.getMessage());
        }
    }

    /** Compares all that was acknowledged with what the coordinator has now. The client goes on meanwhile. */
    public List<String> check(CoordinatorClient through) throws CoordinatorException {
        Map<String, Long> before;
        Set<String> deletedBefore;
        synchronized (this) {
            before = Map.copyOf(present);
            deletedBefore = Set.copyOf(deleted);
        }
        Map<String, Long> found = through.spaces().stream()
                .filter(space -> space.name().startsWith(name + "-"))
                .collect(Collectors.toMap(Space::name, Space::id));
        synchronized (this) {
            before.forEach((space, id) -> {
                // It may have been chosen to be deleted since.
                if (present.containsKey(space)
                        && !Optional.ofNullable(found.get(space)).equals(Optional.of(id))) {
                    lost.add(
                            "space %s, id %d, was acknowledged and is lost: %s".formatted(space, id, found.get(space)));
                }
            });
            deletedBefore.stream()
                    .filter(found::containsKey)
                    .forEach(space -> lost.add(
                            "the deletion of space %s was acknowledged, and the coordinator has it".formatted(space)));
            settle(found);
            return List.copyOf(lost);
        }
    }

    /** A request that waited for a connection to heal may still come in: what is found twice later stays. */
    private void settle(Map<String, Long> found) {
        unknown.replaceAll((_, checks) -> checks + 1);
        List<String> settled = unknown.entrySet().stream()
                .filter(entry -> entry.getValue() > CHECKS)
                .map(Map.Entry::getKey)
                .toList();
        settled.forEach(space -> {
            unknown.remove(space);
            Optional.ofNullable(found.get(space))
                    .ifPresentOrElse(id -> present.put(space, id), () -> deleted.add(space));
        });
    }

    /** The longest time between two acknowledged changes since the last call. */
    public synchronized Duration takeLongest() {
        Duration took = Duration.ofNanos(Math.max(longestNanos, 0));
        longestNanos = 0;
        return took;
    }

    /** Changes acknowledged so far. */
    public synchronized long count() {
        return acknowledged;
    }

    /** Changes without an answer so far. */
    public synchronized long unanswered() {
        return unanswered;
    }

    @Override
    public void close() {
        changing.close();
        client.close();
    }
}
