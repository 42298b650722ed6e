package io.farpage.agent.control.guest;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A space to be created, the body of {@code POST /spaces}.
 *
 * @param name unique in the cluster
 * @param sizeBytes a multiple of the page size
 * @param pageSize bytes of a page: 4096 (when left out) or 2097152
 * @param homes the nodes to take its memory from; all others than this one, when left out
 * @param replicas homes of each page, 1 to 3, in different failure domains; 1 when left out
 * @param encrypted whether agents seal its pages, so that its homes cannot read them; false when left out
 * @param keyId the id of the key to seal them with, which this agent must have; the key for new spaces, when left out
 * @param thin whether room is taken when pages are written first; false when left out: all of it at once
 * @param coherent whether several nodes may use it at the same time; false when left out
 * @param nodes the nodes that may attach it; all may, when left out
 */
public record NewSpace(
        @JsonProperty(required = true) String name,
        @JsonProperty(required = true) long sizeBytes,
        OptionalInt pageSize,
        Optional<List<String>> homes,
        OptionalInt replicas,
        Optional<Boolean> encrypted,
        Optional<String> keyId,
        Optional<Boolean> thin,
        Optional<Boolean> coherent,
        Optional<List<String>> nodes) {}
