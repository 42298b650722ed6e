package io.farpage.coordinator.etcd;

import io.farpage.coordinator.store.StoreException;
import java.util.UUID;

/**
 * The last commit.
 *
 * @param revision number of commits
 * @param nonce of that commit, which tells it from another with the same number whose outcome was unknown
 * @param staged parts that are durable under {@code staged/} and yet to be applied; 0 if none
 */
record Mark(long revision, String nonce, int staged) {

    /** The mark of a store without a commit. */
    static final Mark NEW = new Mark(0, "new", 0);

    Mark next(int parts) {
        return new Mark(revision + 1, UUID.randomUUID().toString(), parts);
    }

    Mark settled() {
        return new Mark(revision, nonce, 0);
    }

    static Mark parse(String text) {
        String[] words = text.split(" ", -1);
        try {
            return new Mark(Long.parseLong(words[0]), words[1], Integer.parseInt(words[2]));
        } catch (RuntimeException e) {
            throw new StoreException("etcd: the mark '%s' is damaged; restore a backup of etcd".formatted(text), e);
        }
    }

    @Override
    public String toString() {
        return revision + " " + nonce + " " + staged;
    }
}
