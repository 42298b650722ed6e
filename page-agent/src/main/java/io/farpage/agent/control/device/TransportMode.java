package io.farpage.agent.control.device;

/** The transports that the operator allows. */
public enum TransportMode {
    /** RDMA where both ends of a link have it, TCP elsewhere. */
    AUTO,
    /** RDMA or nothing: the agent does not start without a usable device. */
    RDMA,
    /** TCP only; RDMA devices are not probed. */
    TCP
}
