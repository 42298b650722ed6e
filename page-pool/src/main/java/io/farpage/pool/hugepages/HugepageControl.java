package io.farpage.pool.hugepages;

import java.io.IOException;

/** The number of hugepages that the kernel is told to have; what is set is a wish, what is read then is what it made. */
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
