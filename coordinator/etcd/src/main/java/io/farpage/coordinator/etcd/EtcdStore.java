package io.farpage.coordinator.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.PutOption;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.StoreException;
import io.farpage.coordinator.store.Table;
import io.farpage.rest.Json;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The store of a coordinator that leads. One key tells the {@link Mark}, and each transaction compares it, the
 * {@link Format} and the leader's key: a commit takes effect if this coordinator leads and nothing was committed in
 * between.
 *
 * <p>A commit of more changes than one transaction of etcd takes is first staged in parts, a key each; the transaction
 * that moves the mark makes it durable, and then the parts are applied, each in as many transactions as it takes. A
 * store that finds staged parts applies them, from the beginning of a part, before anything else.
 */
final class EtcdStore implements Store {

    /** Changes of one transaction; etcd takes 128 operations. */
    static final int MOST_CHANGES = 100;

    /** Bytes of the changes of one request; etcd takes 1.5 MiB. */
    static final int MOST_BYTES = 1 << 20;

    /** Bytes that count for each change beside its row: a part that is staged is JSON. */
    private static final int CHANGE_BYTES = 64;

    /** Bytes of the path of a row that count as its own. */
    private static final int LONGEST_PATH = 1 << 10;

    private static final Logger LOG = LoggerFactory.getLogger(EtcdStore.class);
    static final String MARK = "mark";
    private static final String ROWS = "rows/";

    private final Etcd etcd;
    private final Lead lead;
    private final Compaction compaction;
    private Mark mark;

    /**
     * Tables that were read when the store was opened, and neither asked for nor changed since: a new leader reads them
     * all, and at once is sooner.
     */
    private final Map<Table, Map<String, String>> readAhead = new EnumMap<>(Table.class);

    /**
     * What proves that this coordinator leads.
     *
     * @param condition holds in etcd as long as it does
     * @param lost told when the condition did not hold
     */
    record Lead(Cmp condition, Runnable lost) {}

    /** A part of a commit that is too large for a transaction. */
    record Part(List<Change> changes) {}

    private EtcdStore(Etcd etcd, Lead lead) {
        this.etcd = etcd;
        this.lead = lead;
        this.compaction = Compaction.begin(etcd);
        this.mark = Mark.NEW;
    }

    /**
     * Opens the store, and completes the commit that the last leader may have left staged.
     *
     * @throws StoreException if etcd does not answer or this coordinator does not lead
     */
    static EtcdStore open(Etcd etcd, Lead lead) {
        Format.claim(etcd, lead.condition());
        EtcdStore store = new EtcdStore(etcd, lead);
        store.recover();
        store.readAhead();
        return store;
    }

    private void readAhead() {
        Map<String, Map<String, String>> tables = new HashMap<>();
        for (Table table : Table.values()) {
            Map<String, String> rows = new TreeMap<>();
            tables.put(Etcd.text(etcd.key(path(table))), rows);
            readAhead.put(table, rows);
        }
        int length = etcd.key(ROWS).size();
        for (KeyValue pair : etcd.under(ROWS)) {
            String key = Etcd.text(pair.getKey());
            int end = key.indexOf('/', length) + 1;
            Map<String, String> rows = tables.get(key.substring(0, end));
            if (rows != null) { // otherwise the table is a later version's
                rows.put(key.substring(end), Etcd.text(pair.getValue()));
            }
        }
    }

    @Override
    public synchronized Map<String, String> rows(Table table) {
        settle();
        Map<String, String> before = readAhead.remove(table);
        if (before != null) {
            return before;
        }
        String path = path(table);
        int length = etcd.key(path).size();
        Map<String, String> rows = new TreeMap<>();
        etcd.under(path)
                .forEach(pair -> rows.put(Etcd.text(pair.getKey().substring(length)), Etcd.text(pair.getValue())));
        return rows;
    }

    @Override
    public int longestRow() {
        return MOST_BYTES - LONGEST_PATH;
    }

    @Override
    public synchronized long revision() {
        return mark.revision();
    }

    @Override
    public synchronized void commit(List<Change> changes) {
        settle();
        changes.forEach(change -> readAhead.remove(change.table()));
        List<Part> parts = parts(changes);
        boolean isStaged = parts.size() > 1 || parts.getFirst().changes().size() > MOST_CHANGES;
        Mark next = mark.next(isStaged ? parts.size() : 0);
        List<Op> operations = new ArrayList<>();
        operations.add(put(MARK, next.toString()));
        if (next.staged() > 0) {
            stage(next, parts);
        } else {
            parts.forEach(part -> operations.addAll(operations(part)));
        }
        move(next, operations);
        if (next.staged() > 0) {
            applyQuietly();
        }
        compaction.onCommit(size(parts));
    }

    /**
     * Moves the mark. If the answer is missing or says no, the mark in etcd tells whether it has moved all the same. If
     * it has not, the same transaction is sent to another member: of the two one takes effect, since both compare the
     * mark.
     */
    private void move(Mark next, List<Op> operations) {
        String operation = "commit " + next.revision();
        List<Cmp> conditions = new ArrayList<>(conditions());
        if (next.staged() > 0) {
            conditions.add(isStaged(next, next.staged() - 1));
        }
        for (int tries = 1; ; tries++) {
            try {
                if (etcd.commit(operation, conditions, operations) || read().equals(next)) {
                    mark = next;
                    return;
                }
                break;
            } catch (StoreException e) {
                Optional<Mark> found = readAfter(e);
                if (found.equals(Optional.of(next))) {
                    mark = next;
                    return;
                }
                if (tries == 2 || !found.equals(Optional.of(mark))) {
                    throw e;
                }
                LOG.debug("sent again: {}", e.getMessage());
            }
        }
        lead.lost().run();
        throw new StoreException("etcd, %s: another coordinator leads, or has committed".formatted(operation));
    }

    private Optional<Mark> readAfter(StoreException failure) {
        try {
            return Optional.of(read());
        } catch (StoreException unread) {
            failure.addSuppressed(unread);
            return Optional.empty();
        }
    }

    /**
     * Stages the parts. Until the mark moves, a delayed copy of an earlier deletion may delete all parts that etcd has
     * by then. So etcd puts a part only if it has the previous part, and moves the mark only if it has the last part.
     */
    private void stage(Mark next, List<Part> parts) {
        check("stage", List.of(deleteStaged()));
        for (int i = 0; i < parts.size(); i++) {
            List<Cmp> conditions = new ArrayList<>(conditions());
            if (i > 0) {
                conditions.add(isStaged(next, i - 1));
            }
            check("stage", conditions, List.of(put(staged(next, i), Json.STRICT.writeValueAsString(parts.get(i)))));
        }
    }

    private Cmp isStaged(Mark mark, int part) {
        return new Cmp(etcd.key(staged(mark, part)), Cmp.Op.GREATER, CmpTarget.version(0));
    }

    private Op deleteStaged() {
        ByteSequence all = etcd.key("staged/");
        return Op.delete(
                all, DeleteOption.builder().withRange(Etcd.prefixEnd(all)).build());
    }

    /** The commit is durable already; what is not applied now is applied before the next operation. */
    private void applyQuietly() {
        try {
            settle();
        } catch (StoreException e) {
            LOG.warn("commit {} is durable and is not applied yet: {}", mark.revision(), e.getMessage());
        }
    }

    private void settle() {
        if (mark.staged() == 0) {
            return;
        }
        for (int i = 0; i < mark.staged(); i++) {
            Optional<String> part = etcd.get(staged(mark, i));
            if (part.isPresent()) {
                List<Op> operations = operations(Json.STRICT.readValue(part.get(), Part.class));
                for (int from = 0; from < operations.size(); from += MOST_CHANGES) {
                    check("apply", operations.subList(from, Math.min(from + MOST_CHANGES, operations.size())));
                }
                check("apply", List.of(Op.delete(etcd.key(staged(mark, i)), DeleteOption.DEFAULT)));
            }
        }
        Mark settled = mark.settled();
        move(settled, List.of(put(MARK, settled.toString())));
    }

    private void check(String operation, List<Op> operations) {
        check(operation, conditions(), operations);
    }

    private void check(String operation, List<Cmp> conditions, List<Op> operations) {
        if (!etcd.commit(operation, conditions, operations)) {
            lead.lost().run();
            throw new StoreException("etcd, %s: another coordinator leads, or has committed".formatted(operation));
        }
    }

    private List<Cmp> conditions() {
        Cmp unmoved = mark.equals(Mark.NEW)
                ? new Cmp(etcd.key(MARK), Cmp.Op.EQUAL, CmpTarget.version(0))
                : new Cmp(etcd.key(MARK), Cmp.Op.EQUAL, CmpTarget.value(Etcd.bytes(mark.toString())));
        return List.of(lead.condition(), unmoved, Format.unchanged(etcd));
    }

    private Mark read() {
        return etcd.get(MARK).map(Mark::parse).orElse(Mark.NEW);
    }

    private List<Op> operations(Part part) {
        return part.changes().stream()
                .map(change -> {
                    String path = path(change.table()) + change.key();
                    return change.row()
                            .<Op>map(row -> put(path, row))
                            .orElseGet(() -> Op.delete(etcd.key(path), DeleteOption.DEFAULT));
                })
                .toList();
    }

    private Op.PutOp put(String path, String value) {
        return Op.put(etcd.key(path), Etcd.bytes(value), PutOption.DEFAULT);
    }

    private static String path(Table table) {
        return ROWS + table.name().toLowerCase(Locale.ROOT) + "/";
    }

    private static String staged(Mark mark, int part) {
        return "staged/%s/%06d".formatted(mark.nonce(), part);
    }

    /** The last change of each row, divided so that each part fits in one request. */
    private static List<Part> parts(List<Change> changes) {
        Map<String, Change> last = new LinkedHashMap<>();
        changes.forEach(change -> last.put(path(change.table()) + change.key(), change));
        List<Part> parts = new ArrayList<>();
        List<Change> open = new ArrayList<>();
        long bytes = 0;
        for (Map.Entry<String, Change> entry : last.entrySet()) {
            long size = size(entry.getKey())
                    + entry.getValue().row().map(EtcdStore::size).orElse(0L);
            if (size > MOST_BYTES) {
                throw new StoreException(
                        "row %s has %d bytes, and etcd takes rows of up to %d; use store.kind: embedded"
                                .formatted(entry.getKey(), size, MOST_BYTES));
            }
            if (bytes + size + CHANGE_BYTES > MOST_BYTES && !open.isEmpty()) {
                parts.add(new Part(List.copyOf(open)));
                open.clear();
                bytes = 0;
            }
            open.add(entry.getValue());
            bytes += size + CHANGE_BYTES;
        }
        parts.add(new Part(List.copyOf(open)));
        return parts;
    }

    private static long size(List<Part> parts) {
        return parts.stream()
                .flatMap(part -> part.changes().stream())
                .mapToLong(change -> change.row().map(EtcdStore::size).orElse(0L))
                .sum();
    }

    private static long size(String text) {
        return text.getBytes(StandardCharsets.UTF_8).length;
    }

    @Override
    public synchronized void recover() {
        readAhead.clear();
        mark = read();
        if (mark.staged() == 0) {
            // What was staged for a commit that was given up, such as that of a program that was killed.
            check("open", List.of(deleteStaged()));
        } else {
            settle();
        }
    }

    @Override
    public void close() {}
}
