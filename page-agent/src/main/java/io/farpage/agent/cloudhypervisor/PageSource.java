package io.farpage.agent.cloudhypervisor;

import java.io.IOException;

/** Where the pages of a space are read. Used by one thread. */
@FunctionalInterface
public interface PageSource {
    /**
     * Reads a page of the space.
     *
     * @throws IOException if it cannot be read; it is not zeros then
     */
    byte[] page(long number) throws IOException, InterruptedException;
}
