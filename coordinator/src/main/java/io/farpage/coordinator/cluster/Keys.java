package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.Incarnation;
import org.pcollections.PSortedMap;

/** Keys of rows, and words by which an {@link Index} finds rows: parts with {@code /} between them. */
public final class Keys {
    private Keys() {}

    /** The key of a number, so that keys sort as their numbers do. */
    public static String id(long id) {
        return "%019d".formatted(id);
    }

    /**
     * The key of an extent in the store.
     *
     * @param space id of its space, as {@link #id} writes it
     */
    public static String extent(String space, Extent extent) {
        return space + "/" + id(extent.firstPage());
    }

    static String endpoint(String node, String peer) {
        return node + "/" + peer;
    }

    static String attachment(long space, String node) {
        return id(space) + "/" + node;
    }

    static String release(String node, long id) {
        return node + "/" + id(id);
    }

    static String fence(Fence fence) {
        return "%s/%s/%s/%s".formatted(fence.home(), fence.node(), fence.incarnation(), id(fence.space()));
    }

    /** By which the fences of an incarnation are found. */
    static String cutOff(String node, Incarnation incarnation) {
        return node + "/" + incarnation;
    }

    /** By which the fences of an incarnation that are for a space are found. */
    static String cutOff(String node, Incarnation incarnation, long space) {
        return cutOff(node, incarnation) + "/" + id(space);
    }

    /** The rows of a table whose keys begin with a part. */
    public static <V> PSortedMap<String, V> under(PSortedMap<String, V> table, String part) {
        // The character after '/' is '0'.
        return table.subMap(part + "/", part + "0");
    }
}
