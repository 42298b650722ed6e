package io.farpage.coordinator.access;

import java.nio.file.Path;

/**
 * The place of tokens and join tokens: the directory of an embedded store, or the store that several coordinators
 * share.
 */
public interface AccessRecords extends AutoCloseable {

    /**
     * The records of one name. Nothing is read before they are asked for.
     *
     * @param name lower-case letters and hyphens
     * @param type array of the record
     */
    <T> SharedRecords<T> records(String name, Class<T[]> type);

    /** Closes connections. The records are not usable afterwards. */
    @Override
    void close();

    /** Files of mode 0600 in a directory, which the first change makes. */
    static AccessRecords in(Path directory) {
        return new AccessRecords() {
            @Override
            public <T> SharedRecords<T> records(String name, Class<T[]> type) {
                return new PrivateJson<>(directory.resolve(name + ".json"), type);
            }

            @Override
            public void close() {}
        };
    }
}
