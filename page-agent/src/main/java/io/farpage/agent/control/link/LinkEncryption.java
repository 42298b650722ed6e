package io.farpage.agent.control.link;

/** Whether this agent requires its links to be encrypted. */
public enum LinkEncryption {
    /** A link is encrypted only if its peer requires that. */
    OFF,
    /** Every link is encrypted. RDMA, which does not encrypt, carries none. */
    REQUIRE
}
