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
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Operations of etcd, each of which ends within a deadline.
 *
 * @param client connected to the members
 * @param prefix of all keys
 * @param deadline of each operation
 */
record Etcd(Client client, String prefix, Duration deadline) {

    /** Rows are at most 1.5 MiB, so a page of rows fits in one message. */
    static final int PAGE = 32;

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

    /** The value of a key, as the majority of members has it. */
    Optional<String> get(String path) {
        return await("get " + path, client.getKVClient().get(key(path))).getKvs().stream()
                .map(pair -> text(pair.getValue()))
                .findFirst();
    }

    /** All pairs under a path at one moment, in the order of their keys. */
    List<KeyValue> under(String path) {
        ByteSequence from = key(path);
        ByteSequence end = prefixEnd(from);
        List<KeyValue> pairs = new ArrayList<>();
        long revision = 0;
        while (true) {
            GetOption page = GetOption.builder()
                    .withRange(end)
                    .withLimit(PAGE)
                    .withRevision(revision)
                    .build();
            GetResponse answer = await("range " + path, client.getKVClient().get(from, page));
            pairs.addAll(answer.getKvs());
            if (!answer.isMore()) {
                return pairs;
            }
            revision = revision == 0 ? answer.getHeader().getRevision() : revision;
            from = answer.getKvs().getLast().getKey().concat(ByteSequence.from(new byte[1]));
        }
    }

    static ByteSequence prefixEnd(ByteSequence prefix) {
        byte[] end = prefix.getBytes();
        end[end.length - 1]++; // a path ends with '/', so this does not overflow
        return ByteSequence.from(end);
    }

    /** Makes all operations if all comparisons hold; says whether they did. */
    boolean commit(String operation, List<Cmp> conditions, List<Op> operations) {
        TxnResponse answer = await(
                operation,
                client.getKVClient()
                        .txn()
                        .If(conditions.toArray(Cmp[]::new))
                        .Then(operations.toArray(Op[]::new))
                        .commit());
        return answer.isSucceeded();
    }

    /** Waits for an answer until the deadline. */
    <T> T await(String operation, CompletableFuture<T> answer) {
        try {
            return answer.get(deadline.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            answer.cancel(true);
            throw failed(
                    operation, "no answer within " + deadline.toMillis() + " ms; is a majority of its members up?", e);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw failed(operation, String.valueOf(cause.getMessage()), e);
        } catch (InterruptedException e) {
            answer.cancel(true);
            Thread.currentThread().interrupt();
            throw failed(operation, "interrupted", e);
        }
    }

    private StoreException failed(String operation, String reason, Exception cause) {
        return new StoreException("etcd, %s under %s: %s".formatted(operation, prefix, reason), cause);
    }
}
