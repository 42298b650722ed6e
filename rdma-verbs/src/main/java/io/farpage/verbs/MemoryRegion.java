package io.farpage.verbs;

import java.util.Set;

/** Memory that a device may access: {@code struct ibv_mr}. Addresses in work requests are plain virtual addresses. */
public interface MemoryRegion extends AutoCloseable {
    /** First address. */
    long address();

    /** Bytes. */
    long length();

    /** Key for use in this host's own work requests. */
    int lkey();

    /**
     * Key that a peer must present. Must not be logged: with it a peer may use the memory as {@link #access()} permits.
     */
    int rkey();

    Set<AccessFlag> access();

    /**
     * Deregisters the memory. After the return no peer and no device touches it; requests that arrive later complete at
     * the peer with {@link WcStatus#REM_ACCESS_ERR}. Closing twice does nothing.
     */
    @Override
    void close();
}
