package io.farpage.pool.hugepages;

import java.io.IOException;

/**
 * The number of hugepages that the kernel is configured to have. The kernel may make fewer than the number that is set;
 * a read returns what it made.
 */
interface HugepageControl extends AutoCloseable {
    /** All pages, surplus ones included: those beyond the setting, which live until their last user is gone. */
    long total() throws IOException;

    /** Without the surplus. */
    long configured() throws IOException;

    /** Sets {@link #configured()}. Raising it turns surplus pages into configured ones before it makes new ones. */
    void configure(long pages) throws IOException;

    @Override
    void close() throws IOException;
}
