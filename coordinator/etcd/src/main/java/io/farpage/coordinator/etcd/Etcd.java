package io.farpage.coordinator.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import io.farpage.coordinator.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * Operations of etcd. Each ends within a deadline. If an operation fails or is slow at a member, the next member is
 * asked.
 *
 * @param members of the cluster
 * @param prefix of all keys
 * @param deadline of each operation, however many members are asked
 */
record Etcd(Members members, String prefix, Duration deadline) {

    /**
     * Pairs that are asked for at once, at first. They are at most 1.5 MiB each, so that this many always fit in one
     * message.
     */
    static final int PAGE = 32;

    /** As many as are asked for at once where they are small. */
    private static final int LARGEST_PAGE = 2_048;

    /** Pages of up to this many bytes are followed by larger ones. */
    private static final long SMALL_PAGE = 1 << 20;

    /** Longest message that is taken. */
    static final int MAX_MESSAGE = 64 << 20;

    static ByteSequence bytes(String text) {
        return ByteSequence.from(text, StandardCharsets.UTF_8);
    }

    static String text(ByteSequence bytes) {
        return bytes.toString(StandardCharsets.UTF_8);
    }

    ByteSequence key(String path) {
        return bytes(prefix + "/" + path);
    }

    /** The same with another deadline. */
    Etcd within(Duration other) {
        return new Etcd(members, prefix, other);
    }

    /** The value of a key, as the majority of members has it. */
    Optional<String> get(String path) {
        return ask("get " + path, client -> client.getKVClient().get(key(path))).getKvs().stream()
                .map(pair -> text(pair.getValue()))
                .findFirst();
    }

    /** The revision of etcd, which counts the changes of all keys, of other prefixes too. */
    long revision() {
        return ask("get the revision", client -> client.getKVClient().get(key("revision")))
                .getHeader()
                .getRevision();
    }

    /** Forgets what keys were before a revision. */
    void compact(long revision) {
        ask("compact to " + revision, client -> client.getKVClient().compact(revision));
    }

    /** All pairs under a path at one moment, in the order of their keys. */
    List<KeyValue> under(String path) {
        ByteSequence start = key(path);
        ByteSequence end = prefixEnd(start);
        List<KeyValue> pairs = new ArrayList<>();
        long revision = 0;
        int limit = PAGE;
        while (true) {
            ByteSequence from =
                    pairs.isEmpty() ? start : pairs.getLast().getKey().concat(ByteSequence.from(new byte[1]));
            GetOption page = GetOption.builder()
                    .withRange(end)
                    .withLimit(limit)
                    .withRevision(revision)
                    .build();
            GetResponse answer;
            try {
                answer = ask("range " + path, client -> client.getKVClient().get(from, page));
            } catch (StoreException e) {
                if (limit == PAGE) {
                    throw e;
                }
                limit = PAGE; // these are larger than those before
                continue;
            }
            pairs.addAll(answer.getKvs());
            if (!answer.isMore()) {
                return pairs;
            }
            limit = next(limit, answer.getKvs());
            revision = revision == 0 ? answer.getHeader().getRevision() : revision;
        }
    }

    private static int next(int limit, List<KeyValue> page) {
        long bytes = page.stream().mapToLong(pair -> pair.getValue().size()).sum();
        return bytes <= SMALL_PAGE ? Math.min(4 * limit, LARGEST_PAGE) : PAGE;
    }

    static ByteSequence prefixEnd(ByteSequence prefix) {
        byte[] end = prefix.getBytes();
        end[end.length - 1]++; // a path ends with '/', so this does not overflow
        return ByteSequence.from(end);
    }

    /**
     * Makes all operations if all comparisons hold; says whether they did. More than one member may be asked, so no
     * comparison may hold after the operations, or making them twice must be as good as once. {@code false} may mean
     * that they took effect by another member. If it throws, they may take effect later.
     */
    boolean commit(String operation, List<Cmp> conditions, List<Op> operations) {
        return ask(operation, transaction(conditions, operations)).isSucceeded();
    }

    /** The same with one member: {@code false} means that they did not take effect. */
    boolean commitOnce(String operation, List<Cmp> conditions, List<Op> operations) {
        return call(operation, transaction(conditions, operations)).isSucceeded();
    }

    private static Function<Client, CompletableFuture<TxnResponse>> transaction(
            List<Cmp> conditions, List<Op> operations) {
        return client -> client.getKVClient()
                .txn()
                .If(conditions.toArray(Cmp[]::new))
                .Then(operations.toArray(Op[]::new))
                .commit();
    }

    /**
     * Asks what changes nothing, or may be asked again. When a member fails, or is silent for its part of the deadline,
     * the next one is asked, too; the first answer counts, and later calls begin with the member that gave it.
     */
    <T> T ask(String operation, Function<Client, CompletableFuture<T>> request) {
        return new Asking<>(this, operation, request).answer(members.inTurn());
    }

    /**
     * Calls the present member and waits for its answer until the deadline. If the member has forgotten the login of
     * {@code store.etcd.user}, as it does after some minutes without a call, it has refused the call unread; the client
     * logs in anew with the second one.
     */
    private <T> T call(String operation, Function<Client, CompletableFuture<T>> request) {
        return new Asking<>(this, operation, request).answer(members.inTurn().subList(0, 1));
    }
}
