package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * A certificate from the cluster's CA.
 *
 * @param certificate the certificate and the CA's, as PEM
 * @param ca the CAs that the node must trust, as PEM
 */
public record IssuedCertificate(
        @JsonProperty(required = true) String certificate,
        @JsonProperty(required = true) String ca) {}
