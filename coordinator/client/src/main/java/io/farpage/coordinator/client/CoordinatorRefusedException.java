package io.farpage.coordinator.client;

import io.farpage.rest.Problem;

/**
 * The coordinator answered with a problem document. The same call will be refused again until something changes, unless
 * {@link #isUnavailable}.
 */
public final class CoordinatorRefusedException extends CoordinatorException {

    private static final long serialVersionUID = 1L;

    private final transient Problem problem;

    /** @param operation that was refused, for people */
    public CoordinatorRefusedException(String operation, Problem problem) {
        super("%s: %d %s: %s".formatted(operation, problem.status(), problem.title(), problem.detail()));
        this.problem = problem;
    }

    /** What the coordinator said. */
    public Problem problem() {
        return problem;
    }

    /** Whether an incarnation in the request is not the one that is registered now. */
    public boolean isStaleIncarnation() {
        return problem.is("stale-incarnation");
    }

    /** Whether the pool in the request is not the one that is registered, so that its pages are lost. */
    public boolean isPoolRetired() {
        return problem.is("pool-retired");
    }

    /**
     * Whether the coordinator could not do its work, so that the same call may have another answer a moment later. A
     * change may have been made all the same: its store may have written what it did not confirm.
     */
    public boolean isUnavailable() {
        return switch (problem.status()) {
            case 429, 500, 502, 503, 504 -> true;
            default -> false;
        };
    }

    /** Whether what the call names does not exist, as a node after the coordinator lost its store. */
    public boolean isNotFound() {
        return problem.status() == 404;
    }
}
