package io.farpage.verbs;

/**
 * The port that a device was opened on: the part of {@code struct ibv_port_attr} that farpage uses, and the GID it
 * sends from.
 *
 * @param number port number, from 1
 * @param state logical state; only {@link PortState#ACTIVE} carries data
 * @param linkLayer what is below
 * @param activeMtu the largest path MTU in use
 * @param lid local identifier; 0 on RoCE; the TCP port on the soft provider
 * @param gidIndex index of {@code gid} in the port's table
 * @param gid the GID that queue pairs of this device send from
 * @param grhRequired whether it sends nothing without a global route header, as virtual ports of InfiniBand
 */
public record PortAttributes(
        int number,
        PortState state,
        LinkLayer linkLayer,
        Mtu activeMtu,
        int lid,
        int gidIndex,
        Gid gid,
        boolean grhRequired) {}
