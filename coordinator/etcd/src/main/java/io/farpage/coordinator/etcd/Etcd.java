package io.farpage.coordinator.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.support.Errors;
import io.farpage.coordinator.store.StoreException;
import io.grpc.Status;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

/**
 * Operations of etcd, each of which ends within a deadline. A member at which one fails is left for the next one.
 *
 * @param members of the cluster
 * @param prefix of all keys
 * @param deadline of each call to a member
 */
record Etcd(Members members, String prefix, Duration deadline) {

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

    /** All pairs under a path at one moment, in the order of their keys. */
    List<KeyValue> under(String path) {
        ByteSequence start = key(path);
        ByteSequence end = prefixEnd(start);
        List<KeyValue> pairs = new ArrayList<>();
        long revision = 0;
        while (true) {
            ByteSequence from =
                    pairs.isEmpty() ? start : pairs.getLast().getKey().concat(ByteSequence.from(new byte[1]));
            GetOption page = GetOption.builder()
                    .withRange(end)
                    .withLimit(PAGE)
                    .withRevision(revision)
                    .build();
            GetResponse answer =
                    ask("range " + path, client -> client.getKVClient().get(from, page));
            pairs.addAll(answer.getKvs());
            if (!answer.isMore()) {
                return pairs;
            }
            revision = revision == 0 ? answer.getHeader().getRevision() : revision;
        }
    }

    static ByteSequence prefixEnd(ByteSequence prefix) {
        byte[] end = prefix.getBytes();
        end[end.length - 1]++; // a path ends with '/', so this does not overflow
        return ByteSequence.from(end);
    }

    /** Makes all operations if all comparisons hold; says whether they did. If it throws, they may take effect later. */
    boolean commit(String operation, List<Cmp> conditions, List<Op> operations) {
        TxnResponse answer = call(
                operation,
                client -> client.getKVClient()
                        .txn()
                        .If(conditions.toArray(Cmp[]::new))
                        .Then(operations.toArray(Op[]::new))
                        .commit());
        return answer.isSucceeded();
    }

    /** Asks what changes nothing, or may be asked again, of one member after another until one answers. */
    <T> T ask(String operation, Function<Client, CompletableFuture<T>> request) {
        StoreException failure = null;
        for (int i = 0; i < members.size(); i++) {
            try {
                return call(operation, request);
            } catch (StoreException e) {
                if (Thread.currentThread().isInterrupted()) {
                    throw e;
                }
                if (failure != null) {
                    e.addSuppressed(failure);
                }
                failure = e;
            }
        }
        throw failure == null ? new StoreException("etcd: no member is configured") : failure;
    }

    /**
     * Calls the present member and waits for its answer until the deadline. If the member has forgotten the login of {@code store.etcd.user}, as it does after
     * some minutes without a call, it has refused the call unread; the client logs in anew with the second one.
     */
    <T> T call(String operation, Function<Client, CompletableFuture<T>> request) {
        Client member = members.current();
        try {
            return once(member, operation, request);
        } catch (StoreException e) {
            if (!isLoggedOut(e)) {
                throw e;
            }
            return once(member, operation, request);
        }
    }

    private static boolean isLoggedOut(StoreException failure) {
        return failure.getCause() instanceof ExecutionException cause
                && cause.getCause() != null
                && (Errors.isInvalidTokenError(cause.getCause()) || Errors.isAuthStoreExpired(cause.getCause()));
    }

    private <T> T once(Client member, String operation, Function<Client, CompletableFuture<T>> request) {
        CompletableFuture<T> answer = request.apply(member);
        try {
            return answer.get(deadline.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            answer.cancel(true);
            members.leave(member);
            throw failed(
                    operation, "no answer within " + deadline.toMillis() + " ms; is a majority of its members up?", e);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            StoreException failure = failed(operation, reason(cause), e);
            if (!isLoggedOut(failure)) {
                members.leave(member);
            }
            throw failure;
        } catch (InterruptedException e) {
            answer.cancel(true);
            Thread.currentThread().interrupt();
            throw failed(operation, "interrupted", e);
        }
    }

    private static String reason(Throwable cause) {
        Status status = Status.fromThrowable(cause);
        boolean isRefusedLogin = status.getCode() == Status.Code.UNAUTHENTICATED && status.getDescription() == null;
        return isRefusedLogin
                ? "etcd refuses store.etcd.user with the password in store.etcd.password_file"
                : String.valueOf(cause.getMessage());
    }

    private StoreException failed(String operation, String reason, Exception cause) {
        return new StoreException("etcd, %s under %s: %s".formatted(operation, prefix, reason), cause);
    }
}
