package io.farpage.coordinator.cluster;

import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A change that a caller of the {@link Ledger} waits for. Guarded by the ledger's lock until it is done. */
final class PendingChange<T> {

    private final Function<Draft, T> function;
    private @Nullable T result;
    private Optional<Throwable> failure = Optional.empty();
    private boolean done;

    PendingChange(Function<Draft, T> function) {
        this.function = function;
    }

    /**
     * Drafts the change. Returns false if it is refused: then the draft is void.
     *
     * @param check of the draft; throws to refuse the change
     */
    boolean draft(Draft draft, Consumer<Draft> check) {
        try {
            result = function.apply(draft);
            check.accept(draft);
            return true;
        } catch (RuntimeException | Error e) {
            failure = Optional.of(e);
            return false;
        }
    }

    /** The change is durable and visible, or was refused. */
    void done() {
        done = true;
    }

    /** The change could not be stored. */
    void fail(Throwable e) {
        failure = Optional.of(e);
        done = true;
    }

    boolean isDone() {
        return done;
    }

    /** What the function returned; throws what it threw, or why the change could not be stored. */
    @SuppressWarnings("NullAway") // The function's own result, if there is no failure.
    T result() {
        if (failure.isPresent()) {
            switch (failure.get()) {
                case RuntimeException e -> throw e;
                case Error e -> throw e;
                default -> throw new IllegalStateException("a change throws nothing else", failure.get());
            }
        }
        return result;
    }
}
