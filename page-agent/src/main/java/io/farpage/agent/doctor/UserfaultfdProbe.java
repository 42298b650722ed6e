package io.farpage.agent.doctor;

import io.farpage.linux.PosixException;
import io.farpage.linux.uffd.Userfaultfd;

/** Opens a userfaultfd, asks what it can do, and closes it. */
final class UserfaultfdProbe {
    private UserfaultfdProbe() {}

    /** What came of it. */
    sealed interface Outcome {
        /**
         * It can be had.
         *
         * @param features {@code UFFD_FEATURE_*} that the kernel has
         */
        record Opened(long features) implements Outcome {}

        /**
         * It cannot be had.
         *
         * @param errno why not
         */
        record Refused(int errno) implements Outcome {}
    }

    static Outcome open() {
        try (Userfaultfd opened = Userfaultfd.open(0)) {
            return new Outcome.Opened(opened.features());
        } catch (PosixException e) {
            return new Outcome.Refused(e.errno());
        }
    }
}
