package io.farpage.it.simulation.engine;

import io.farpage.config.Config;
import io.farpage.coordinator.access.AccessRecords;
import io.farpage.coordinator.config.Settings;
import io.farpage.coordinator.lead.Candidacy;
import io.farpage.coordinator.lead.Elections;
import io.farpage.coordinator.lead.Leader;
import io.farpage.coordinator.lead.Term;
import io.farpage.coordinator.store.Store;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A store that several coordinators share, and that lets one of them lead: the first that asks while none does, until
 * the lease runs out that it renews. A leader counts its lease from the sending of a renewal, the store from its
 * coming, and the leader gives up at three quarters of it.
 */
final class SimulatedElections implements Elections {
    private static final Map<Path, Election> ALL = new HashMap<>();
    private static final long LEAST_NANOS = 50_000;
    private static final long MOST_NANOS = 2_000_000;
    private static final long POLL_NANOS = 100_000_000;
    private static final long RETRY_NANOS = 50_000_000;

    /** Who leads, as the store has it. */
    private static final class Election {
        private final Set<String> candidates = new HashSet<>();
        private long terms;
        private Optional<Leader> leader = Optional.empty();
        private long expires;

        Optional<Leader> leader() {
            return leader.filter(_ -> Engine.get().now() < expires);
        }

        boolean isLed(long term) {
            return leader().filter(one -> one.term() == term).isPresent();
        }

        /** Gives or prolongs a lease. */
        void lease(Leader to, long nanos) {
            leader = Optional.of(to);
            expires = Engine.get().now() + nanos;
        }

        void end(long term) {
            if (isLed(term)) {
                leader = Optional.empty();
            }
        }
    }

    @Override
    public Candidacy open(Config config, URI own) {
        Path store = config.get(Settings.DIRECTORY);
        Election election = ALL.computeIfAbsent(store, _ -> new Election());
        election.candidates.add(own.getHost());
        return new Candidate(store, election, own, config.get(Settings.ETCD_LEASE));
    }

    @Override
    public AccessRecords access(Config config) {
        return AccessRecords.in(config.get(Settings.DIRECTORY));
    }

    /** A process has answered what it knows: if it is a coordinator, no other may lead at this moment. */
    static void answered(Node by) {
        for (Election election : ALL.values()) {
            Optional<Leader> other =
                    election.leader().filter(leader -> !leader.url().getHost().equals(by.address()));
            if (other.isPresent() && election.candidates.contains(by.address())) {
                Engine.get()
                        .fail("the coordinator at %s answers, and the one at %s leads"
                                .formatted(by.address(), other.get().url()));
            }
        }
    }

    /** A message to the store, or its answer. False: it is lost. */
    private static boolean travels() {
        Engine engine = Engine.get();
        SimulatedStore.Faults faults = SimulatedStore.faults();
        engine.pause(engine.between(LEAST_NANOS, MOST_NANOS) + engine.between(0, faults.lateNanos));
        return faults.failsOneIn == 0 || !engine.oneIn(faults.failsOneIn);
    }

    private record Candidate(Path path, Election election, URI own, Duration lease) implements Candidacy {
        @Override
        public Term campaign() {
            while (true) {
                long sent = Engine.get().now();
                if (travels() && election.leader().isEmpty()) {
                    Leader leader = new Leader(own, ++election.terms);
                    election.lease(leader, lease.toNanos());
                    if (travels()) {
                        return new HeldTerm(path, election, leader, lease.toNanos(), sent);
                    }
                }
                Engine.get().pause(POLL_NANOS);
            }
        }

        @Override
        public Optional<Leader> leader() {
            return travels() ? election.leader() : Optional.empty();
        }

        @Override
        public void close() {}
    }

    private static final class HeldTerm implements Term {
        private final Path path;
        private final Election election;
        private final Leader leader;
        private final long length;
        private long until;
        private boolean ended;

        HeldTerm(Path path, Election election, Leader leader, long length, long sent) {
            this.path = path;
            this.election = election;
            this.leader = leader;
            this.length = length;
            renewed(sent);
            Engine.get().running().start("lease of the lead", this::keep);
        }

        private void renewed(long sent) {
            until = sent + length / 4 * 3;
        }

        private void keep() {
            Engine engine = Engine.get();
            while (holds()) {
                long sent = engine.now();
                boolean comes = travels();
                if (comes && !election.isLed(number())) {
                    break;
                }
                if (comes) {
                    election.lease(leader, length);
                }
                if (comes && travels() && holds()) {
                    renewed(sent);
                    engine.pause(length / 6);
                } else {
                    engine.pause(RETRY_NANOS);
                }
            }
            close();
        }

        @Override
        public Store store() {
            return SimulatedStore.open(path, () -> {
                ended |= !election.isLed(number());
                return !ended;
            });
        }

        @Override
        public long number() {
            return leader.term();
        }

        @Override
        public boolean holds() {
            return !ended && Engine.get().now() < until;
        }

        @Override
        public boolean awaitEnd(Duration longest) {
            Engine engine = Engine.get();
            long end = engine.now() + longest.toNanos();
            while (holds() && engine.now() < end) {
                engine.pause(POLL_NANOS);
            }
            return !holds();
        }

        @Override
        public void close() {
            ended = true;
            if (travels()) {
                election.end(number());
            }
        }
    }
}
