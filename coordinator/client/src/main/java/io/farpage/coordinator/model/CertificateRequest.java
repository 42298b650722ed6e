package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * Asks for a certificate that replaces the one that the request is made with. The names stay the same.
 *
 * @param signingRequest for the node's key, PKCS #10 as PEM; its names do not count
 */
public record CertificateRequest(
        @JsonProperty(required = true) String signingRequest) {}
