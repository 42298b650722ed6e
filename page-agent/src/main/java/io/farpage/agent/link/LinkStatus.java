package io.farpage.agent.link;

/**
 * A link as people are told of it.
 *
 * @param peer node id
 * @param state one of down, offered, connecting, up, leaving
 * @param transport rdma or tcp; empty while there is no queue pair
 * @param device the device it is on; empty while there is no queue pair
 * @param detail the last failure; empty if there was none
 */
public record LinkStatus(String peer, String state, String transport, String device, String detail) {}
