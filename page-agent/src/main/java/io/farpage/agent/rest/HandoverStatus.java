package io.farpage.agent.rest;

/**
 * A handover that has begun.
 *
 * @param agent process that ends
 * @param standby process that takes over
 */
public record HandoverStatus(int agent, int standby) {}
