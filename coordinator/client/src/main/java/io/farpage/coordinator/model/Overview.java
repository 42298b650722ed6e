package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A cluster at one moment: what is wrong with all of it, and a page of its nodes.
 *
 * @param index of the last event
 * @param cluster if one was formed
 * @param totals of the whole cluster
 * @param alerts the first of them, the most urgent ones first
 * @param nodes those that were asked for, with their use of memory
 * @param links of these nodes with an endpoint published on at least one side
 * @param spaces the first of them in the order of their names
 */
public record Overview(
        @JsonProperty(required = true) long index,
        Optional<Cluster> cluster,
        @JsonProperty(required = true) Totals totals,
        @JsonProperty(required = true) List<Alert> alerts,
        @JsonProperty(required = true) List<NodeUse> nodes,
        @JsonProperty(required = true) List<Link> links,
        @JsonProperty(required = true) List<SpaceUse> spaces) {

    /** Copies the lists. */
    public Overview {
        alerts = List.copyOf(alerts);
        nodes = List.copyOf(nodes);
        links = List.copyOf(links);
        spaces = List.copyOf(spaces);
    }

    /**
     * Counts of the whole cluster.
     *
     * @param nodes how many have each status
     * @param endpoints that nodes have published; a link has two
     * @param spaces that exist
     * @param critical alerts
     * @param warnings alerts that are not critical
     * @param poolBytes of the pools of all nodes that have not failed
     * @param usedBytes of these
     * @param links by transport
     * @param extents of all spaces
     * @param promisedBytes that thin spaces may still ask for; empty if the coordinator does not know thin spaces
     */
    public record Totals(
            @JsonProperty(required = true) Map<NodeStatus, Long> nodes,
            @JsonProperty(required = true) long endpoints,
            @JsonProperty(required = true) long spaces,
            @JsonProperty(required = true) long critical,
            @JsonProperty(required = true) long warnings,
            @JsonProperty(required = true) long poolBytes,
            @JsonProperty(required = true) long usedBytes,
            @JsonProperty(required = true) LinkCounts links,
            @JsonProperty(required = true) ExtentCounts extents,
            OptionalLong promisedBytes) {

        /** Copies the map. */
        public Totals {
            nodes = Map.copyOf(nodes);
        }
    }

    /**
     * Links of the whole cluster.
     *
     * @param transports how many complete links there are over each; a link that may use several counts for the best
     * @param unanswered links with an endpoint published on one side alone
     */
    public record LinkCounts(
            @JsonProperty(required = true) Map<TransportKind, Long> transports,
            @JsonProperty(required = true) long unanswered) {

        /** Copies the map. */
        public LinkCounts {
            transports = Map.copyOf(transports);
        }
    }

    /** Extents of all spaces: how many there are, have fewer homes than their space was made with, and are lost. */
    public record ExtentCounts(
            @JsonProperty(required = true) long all,
            @JsonProperty(required = true) long degraded,
            @JsonProperty(required = true) long lost) {}

    /** A node and what of its exported pool is free. */
    public record NodeUse(
            @JsonProperty(required = true) Node node,
            @JsonProperty(required = true) long freeBytes) {}

    /** Two nodes, which of them have published, and what both offer. */
    public record Link(
            @JsonProperty(required = true) String a,
            @JsonProperty(required = true) String b,
            @JsonProperty(required = true) boolean aPublished,
            @JsonProperty(required = true) boolean bPublished,
            @JsonProperty(required = true) List<TransportKind> transports) {}
}
