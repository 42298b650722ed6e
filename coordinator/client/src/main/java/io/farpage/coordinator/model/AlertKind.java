package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/** What is wrong, in the order in which an operator has to see to it. */
public enum AlertKind {
    /** Pages of a space are lost. */
    @JsonProperty("pages-lost")
    PAGES_LOST(Severity.CRITICAL),
    /** A space may hold a mix of older and newer pages. */
    @JsonProperty("space-torn")
    SPACE_TORN(Severity.CRITICAL),
    /** A node has failed that has the only copy of some pages. */
    @JsonProperty("only-copy-away")
    ONLY_COPY_AWAY(Severity.CRITICAL),
    /** A space cannot be attached before a home that has failed has cut an earlier writer off. */
    @JsonProperty("fence-waits")
    FENCE_WAITS(Severity.CRITICAL),
    /** Extents have fewer homes than their space was made with. */
    @JsonProperty("extents-degraded")
    EXTENTS_DEGRADED(Severity.WARNING),
    /** A node has failed. */
    @JsonProperty("node-failed")
    NODE_FAILED(Severity.WARNING),
    /** A node that the cluster was formed of has not registered. */
    @JsonProperty("node-missing")
    NODE_MISSING(Severity.WARNING),
    /** Nine tenths of a node's pool are in use. */
    @JsonProperty("pool-nearly-full")
    POOL_NEARLY_FULL(Severity.WARNING),
    /** Thin spaces may ask for more room than is left. */
    @JsonProperty("room-scarce")
    ROOM_SCARCE(Severity.WARNING),
    /** A kind that this program is too old to know. */
    @JsonProperty("unknown")
    @com.fasterxml.jackson.annotation.JsonEnumDefaultValue
    UNKNOWN(Severity.WARNING);

    /** How urgent it is. */
    public enum Severity {
        /** Pages are lost or not available, or a guest cannot go on. */
        @JsonProperty("critical")
        CRITICAL,
        /** One more failure may make it critical. */
        @JsonProperty("warning")
        WARNING
    }

    private final Severity severity;

    AlertKind(Severity severity) {
        this.severity = severity;
    }

    /** How urgent it is. */
    public Severity severity() {
        return severity;
    }
}
