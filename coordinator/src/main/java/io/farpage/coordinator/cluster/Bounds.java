package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.rest.ProblemException;
import java.util.List;
import java.util.Optional;

/**
 * Limits of what the coordinator keeps. All of it is in memory and in the store, and has to fit into the heap at the
 * next start. A request that exceeds a limit is refused with status 507 and changes nothing.
 */
final class Bounds {
    static final int NODES = 16_384;
    /** Node ids whose superseded incarnations are remembered. */
    static final int RETIRED = 65_536;

    /** Endpoints of one node: {@code link.max} allows as many peers. */
    static final int ENDPOINTS_OF_NODE = 1024;
    /** Queue pairs in all endpoints of one node. */
    static final int ENTRIES_OF_NODE = 8192;

    static final int SPACES = 16_384;
    static final int EXTENTS = 131_072;
    static final int ATTACHMENTS = 65_536;
    /** Entries in the lists of nodes that may attach spaces, of all spaces. */
    static final int ALLOWED = 131_072;

    private static final int HEAP_SHARE = 8;
    /** Heap of a queue pair's entry: the record, and its text in the store's cache. */
    private static final int ENTRY_BYTES = 512;

    private static final int FEWEST_ENTRIES = 16_384;

    private Bounds() {}

    /** Checks that a node may be registered for the first time. */
    static void checkNewNode(Draft draft, String id) {
        check("nodes", draft.nodes.size() + 1, NODES);
        int retired = draft.retired.size() + (draft.retired.find(id).isPresent() ? 0 : 1);
        check("node ids, those of former nodes included,", retired, RETIRED);
    }

    /**
     * Checks that an endpoint with {@code entries} queue pairs may be published. It replaces an earlier one of the same
     * pair of nodes.
     */
    static void checkEndpoint(Draft draft, String node, int entries, Optional<Endpoint> replaced) {
        int freed = replaced.map(before -> before.entries().size()).orElse(0);
        int rows = replaced.isPresent() ? 0 : 1;
        int ofNode = entries - freed;
        for (Endpoint endpoint : draft.endpoints.under(node + "/")) {
            rows++;
            ofNode += endpoint.entries().size();
        }
        check("endpoints of node '" + node + "'", rows, ENDPOINTS_OF_NODE);
        check("queue pairs in the endpoints of node '" + node + "'", ofNode, ENTRIES_OF_NODE);
        int all = entries - freed + draft.entries();
        check("queue pairs in the endpoints of all nodes, by the size of the heap (-Xmx),", all, entriesOfAll());
    }

    static int entriesOfAll() {
        return (int) Math.max(
                FEWEST_ENTRIES,
                Math.min(Runtime.getRuntime().maxMemory() / HEAP_SHARE / ENTRY_BYTES, Integer.MAX_VALUE));
    }

    /**
     * Extents that a group of homes gets of a new space: fewer while other spaces have half of those that are allowed.
     */
    static int extentsOfGroup(Draft draft) {
        return hasManyExtents(draft) ? 1 : Placement.EXTENTS;
    }

    /** Extents of the guest's pages that a new thin space gets. */
    static int extentsOfThin(Draft draft) {
        return hasManyExtents(draft) ? Placement.FEWEST_OF_THIN : Placement.EXTENTS;
    }

    private static boolean hasManyExtents(Draft draft) {
        return extents(draft) >= EXTENTS / 2;
    }

    private static int extents(Draft draft) {
        return draft.extents.rows().stream().mapToInt(of -> of.list().size()).sum();
    }

    /** Checks that a space with {@code extents} extents may be made. */
    static void checkNewSpace(Draft draft, int extents) {
        check("spaces", draft.spaces.size() + 1, SPACES);
        check("extents of all spaces", extents + extents(draft), EXTENTS);
    }

    /** Whether an existing space may get {@code extents} extents. */
    static boolean mayAddExtents(Draft draft, int extents) {
        return extents + extents(draft) <= EXTENTS;
    }

    /** Checks that the list of nodes that may attach a space may have {@code entries} entries. */
    static void checkAllowed(Draft draft, long space, int entries) {
        int all = entries
                + draft.spaces.current().values().stream()
                        .filter(other -> other.id() != space)
                        .mapToInt(other -> other.nodes().map(List::size).orElse(0))
                        .sum();
        check("nodes in the lists of all spaces", all, ALLOWED);
    }

    /** Checks that an attachment may be made, in place of an earlier one of the same node and space. */
    static void checkAttachment(Draft draft, Optional<Attachment> replaced) {
        check("attachments", draft.attachments.size() + (replaced.isPresent() ? 0 : 1), ATTACHMENTS);
    }

    private static void check(String what, int would, int most) {
        if (would > most) {
            throw new ProblemException(
                    507, "limit", "that would make %d %s and %d are allowed".formatted(would, what, most));
        }
    }
}
