package io.farpage.verbs.soft;

/**
 * The oldest work request whose local memory is not registered as it has to be. It fails with LOC_PROT_ERR once all
 * before it have completed.
 */
final class LocalFault {
    private static final long NONE = -1;

    private long position = NONE;

    void clear() {
        position = NONE;
    }

    void add(long at) {
        if (position == NONE || at < position) {
            position = at;
        }
    }

    boolean isAt(long at) {
        return at == position;
    }
}
