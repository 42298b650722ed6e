package io.farpage.verbs;

/**
 * Limits and identity of a device: the part of {@code struct ibv_device_attr} that farpage uses.
 *
 * @param firmware firmware or software version, as the device reports it
 * @param maxQp queue pairs
 * @param maxQpWr work requests of one queue
 * @param maxSge scatter/gather entries of one work request
 * @param maxCqe entries of one completion queue
 * @param maxMr memory regions
 * @param maxMrSize bytes of one memory region
 * @param maxQpRdAtom READs that one queue pair may have in flight, in either direction
 * @param maxSrqWr entries of a shared receive queue; 0 if the device has none
 * @param maxInlineData bytes that one inline send may carry
 * @param maxMessageSize bytes of one message
 * @param numaNode NUMA node that the device is attached to; -1 if it is attached to none
 */
public record DeviceAttributes(
        String firmware,
        int maxQp,
        int maxQpWr,
        int maxSge,
        int maxCqe,
        int maxMr,
        long maxMrSize,
        int maxQpRdAtom,
        int maxSrqWr,
        int maxInlineData,
        long maxMessageSize,
        int numaNode) {}
