package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Space;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * The entity tag (RFC 9110, section 8.8.3) of the list of nodes that may attach a space. Another list, or the list of
 * another space, has another tag.
 */
public final class NodesTag {

    private NodesTag() {}

    /** The tag of a space's list, with its quotes. */
    public static String of(Space space) {
        return "\"%d-%s\""
                .formatted(space.id(), space.nodes().map(NodesTag::hash).orElse("all"));
    }

    /** Whether the value of an If-Match header names the list that a space has. */
    static boolean matches(String ifMatch, Space space) {
        String tag = of(space);
        return Arrays.stream(ifMatch.split(","))
                .map(String::strip)
                .anyMatch(named -> named.equals("*") || named.equals(tag));
    }

    /** Ids have no comma. */
    private static String hash(List<String> nodes) {
        return Digest.of(String.join(",", nodes).getBytes(StandardCharsets.UTF_8));
    }
}
