package io.farpage.coordinator.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.PutOption;
import io.farpage.coordinator.access.SharedRecords;
import io.farpage.coordinator.store.StoreException;
import io.farpage.rest.Json;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.LongSupplier;
import tools.jackson.core.JacksonException;

/**
 * A list of records as JSON under one key. A change compares the value that it began with, so of several at the same
 * time one takes effect and the others begin anew. No lead is needed: the key belongs to no leader's rows.
 *
 * <p>A read asks a majority of the members, and readers that wait for it share the answer. While etcd does not answer,
 * what was read last is repeated for a minute: tokens go on counting, and none can be revoked at that time, except by a
 * coordinator that this one is cut off from.
 */
final class EtcdRecords<T> implements SharedRecords<T> {

    /** For how long what was read last is repeated while etcd does not answer. */
    static final Duration STALE = Duration.ofMinutes(1);

    /** How long etcd is left alone after it did not answer, so that requests do not queue for its deadline. */
    static final Duration PAUSE = Duration.ofSeconds(1);

    private static final int TRIES = 16;
    private static final String EMPTY = "[]";

    private final Etcd etcd;
    private final String path;
    private final Class<T[]> type;
    private final LongSupplier clock;
    private Optional<Known<T>> known = Optional.empty();
    private Optional<Failed> failed = Optional.empty();

    /** What was read last, and when that was asked for. */
    private record Known<T>(List<T> records, long askedAt) {}

    private record Failed(StoreException why, long at) {}

    /** @param clock in nanoseconds, from any origin */
    EtcdRecords(Etcd etcd, String path, Class<T[]> type, LongSupplier clock) {
        this.etcd = etcd;
        this.path = path;
        this.type = type;
        this.clock = clock;
    }

    @Override
    public List<T> read() {
        return readSince(clock.getAsLong());
    }

    private synchronized List<T> readSince(long wanted) {
        Optional<Known<T>> fresh = known.filter(last -> last.askedAt() - wanted >= 0);
        if (fresh.isPresent()) {
            return fresh.get().records();
        }
        long now = clock.getAsLong();
        if (failed.isPresent() && now - failed.get().at() < PAUSE.toNanos()) {
            return repeat(now, failed.get().why());
        }
        try {
            List<T> records = parse(etcd.get(path).orElse(EMPTY));
            known = Optional.of(new Known<>(records, now));
            failed = Optional.empty();
            return records;
        } catch (StoreException e) {
            failed = Optional.of(new Failed(e, clock.getAsLong()));
            return repeat(now, e);
        }
    }

    private List<T> repeat(long now, StoreException why) {
        return known.filter(last -> now - last.askedAt() < STALE.toNanos())
                .orElseThrow(() -> new StoreException(String.valueOf(why.getMessage()), why))
                .records();
    }

    @Override
    public <R> R change(Function<List<T>, Change<T, R>> change) {
        for (int tries = 0; tries < TRIES; tries++) {
            Optional<String> before = etcd.get(path);
            Change<T, R> changed = change.apply(parse(before.orElse(EMPTY)));
            String after = Json.STRICT.writeValueAsString(changed.records());
            if (after.equals(before.orElse(EMPTY)) || replace(before, after)) {
                return changed.result();
            }
        }
        throw new StoreException("etcd, %s: other programs changed it %d times meanwhile; run the command again"
                .formatted(name(), TRIES));
    }

    private boolean replace(Optional<String> before, String after) {
        if (after.getBytes(StandardCharsets.UTF_8).length > EtcdStore.MOST_BYTES) {
            throw new StoreException("etcd, %s: the list would have more than %d bytes, so no token is added"
                    .formatted(name(), EtcdStore.MOST_BYTES));
        }
        ByteSequence key = etcd.key(path);
        Cmp unchanged = new Cmp(
                key,
                Cmp.Op.EQUAL,
                before.<CmpTarget<?>>map(text -> CmpTarget.value(Etcd.bytes(text)))
                        .orElseGet(() -> CmpTarget.version(0)));
        try {
            return etcd.commitOnce(
                    "change " + path, List.of(unchanged), List.of(Op.put(key, Etcd.bytes(after), PutOption.DEFAULT)));
        } catch (StoreException e) {
            // It may have taken effect. Hashes of new tokens and times of use make the text one that no other change
            // writes.
            if (etcd.get(path).equals(Optional.of(after))) {
                return true;
            }
            throw e;
        }
    }

    private String name() {
        return etcd.prefix() + "/" + path;
    }

    private List<T> parse(String text) {
        try {
            return List.of(Json.STRICT.readValue(text, type));
        } catch (JacksonException e) {
            throw new StoreException("etcd, %s cannot be read: %s".formatted(name(), e.getMessage()), e);
        }
    }
}
