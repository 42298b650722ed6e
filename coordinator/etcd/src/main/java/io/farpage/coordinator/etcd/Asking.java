package io.farpage.coordinator.etcd;

import io.etcd.jetcd.Client;
import io.etcd.jetcd.support.Errors;
import io.farpage.coordinator.store.StoreException;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One request, for which members are asked until one answers. The next member is asked when one fails, and when those
 * asked so far are silent: a member that is cut off from the others takes calls and does not answer them. One thread.
 */
final class Asking<T> {

    /** What came of asking a member: an answer or a failure. */
    private record Ended<T>(Client member, Optional<T> answer, Optional<Throwable> failure) {}

    private final Etcd etcd;
    private final String operation;
    private final Function<Client, CompletableFuture<T>> request;
    private final BlockingQueue<Ended<T>> ended = new LinkedBlockingQueue<>();
    private final List<CompletableFuture<T>> sent = new ArrayList<>();
    private final Set<Client> loggedInAnew = new HashSet<>();
    private final List<StoreException> failures = new ArrayList<>();

    Asking(Etcd etcd, String operation, Function<Client, CompletableFuture<T>> request) {
        this.etcd = etcd;
        this.operation = operation;
        this.request = request;
    }

    /** The first answer of these members, which are asked in this order; none is waited for once there is one. */
    T answer(List<Client> members) {
        try {
            return firstAnswer(members);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw failed("interrupted", e);
        } finally {
            sent.forEach(call -> call.cancel(true));
        }
    }

    private T firstAnswer(List<Client> members) throws InterruptedException {
        long end = System.nanoTime() + etcd.deadline().toNanos();
        long patience = etcd.deadline().toNanos() / (members.size() + 1);
        Iterator<Client> next = members.iterator();
        send(next.next());
        while (true) {
            long left = end - System.nanoTime();
            Ended<T> one = ended.poll(next.hasNext() ? Math.min(patience, left) : left, TimeUnit.NANOSECONDS);
            if (one == null && System.nanoTime() - end >= 0) {
                etcd.members().leave(members.getFirst());
                throw silent();
            }
            if (one != null) {
                if (one.answer().isPresent()) {
                    etcd.members().prefer(one.member());
                    return one.answer().get();
                }
                if (one.failure().isPresent()
                        && isSentAgain(one.member(), one.failure().get())) {
                    continue;
                }
                if (failures.size() == members.size()) {
                    etcd.members().leave(members.getFirst());
                    throw refused();
                }
            }
            if (next.hasNext()) {
                send(next.next());
            }
        }
    }

    private void send(Client member) {
        CompletableFuture<T> call = request.apply(member);
        sent.add(call);
        CompletableFuture<T> _ = call.whenComplete((answer, failure) ->
                ended.add(new Ended<>(member, Optional.ofNullable(answer), Optional.ofNullable(failure))));
    }

    /** Notes a failure, or asks the same member again if it has forgotten the login; the client logs in anew then. */
    private boolean isSentAgain(Client member, Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        if (isLoggedOut(cause) && loggedInAnew.add(member)) {
            send(member);
            return true;
        }
        failures.add(failed(reason(cause), cause));
        return false;
    }

    private static boolean isLoggedOut(Throwable cause) {
        return Errors.isInvalidTokenError(cause) || Errors.isAuthStoreExpired(cause);
    }

    private static String reason(Throwable cause) {
        Status status = Status.fromThrowable(cause);
        boolean isRefusedLogin = status.getCode() == Status.Code.UNAUTHENTICATED && status.getDescription() == null;
        return isRefusedLogin
                ? "etcd refuses store.etcd.user with the password in store.etcd.password_file"
                : String.valueOf(cause.getMessage());
    }

    private StoreException silent() {
        String reason = "no answer within " + etcd.deadline().toMillis() + " ms; is a majority of its members up?";
        return withFailures(failed(reason, null), failures);
    }

    /** What all members said: the failure of the first one, with those of the others. */
    private StoreException refused() {
        return withFailures(failures.getFirst(), failures.subList(1, failures.size()));
    }

    private static StoreException withFailures(StoreException failure, List<StoreException> others) {
        others.forEach(failure::addSuppressed);
        return failure;
    }

    private StoreException failed(String reason, @Nullable Throwable cause) {
        String message = "etcd, %s under %s: %s".formatted(operation, etcd.prefix(), reason);
        return cause == null ? new StoreException(message) : new StoreException(message, cause);
    }
}
