package io.farpage.access;

/**
 * The outcome of one attempt: a request, or a TLS handshake that led to none.
 *
 * @param identity on whose behalf
 * @param address of the client, without port
 * @param operation such as {@code PUT /api/v1/nodes/a}, or {@code TLS handshake}
 * @param allowed whether it may be carried out
 * @param reason why not; empty if it is allowed
 */
public record Decision(Identity identity, String address, String operation, boolean allowed, String reason) {}
