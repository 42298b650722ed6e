package io.farpage.agent.control.device;

/**
 * The result of probing a provider for devices.
 *
 * @param provider {@code ibverbs} or {@code soft}
 * @param usable whether it gave a device
 * @param detail what was found, one line
 * @param fix what to do about it; empty if nothing is wrong
 */
public record Finding(String provider, boolean usable, String detail, String fix) {}
