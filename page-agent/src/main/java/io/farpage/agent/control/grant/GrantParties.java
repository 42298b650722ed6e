package io.farpage.agent.control.grant;

import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.Incarnation;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * What a grant is about.
 *
 * @param space id of the space
 * @param home node whose pool holds pages of it
 * @param homeIncarnation of the home
 * @param node that is attached to the space
 * @param incarnation of that node
 */
public record GrantParties(long space, String home, Incarnation homeIncarnation, String node, Incarnation incarnation) {
    /** As the coordinator says. */
    static GrantParties of(Grant grant) {
        return new GrantParties(
                grant.space(), grant.home(), grant.homeIncarnation(), grant.node(), grant.incarnation());
    }

    /** The associated data of the seal. */
    byte[] encoded() {
        return "farpage grant 1 %d %s/%s %s/%s"
                .formatted(space, home, homeIncarnation, node, incarnation)
                .getBytes(StandardCharsets.US_ASCII);
    }

    /** In what these differ from others, for messages; empty if in nothing. */
    List<String> differences(GrantParties other) {
        List<String> found = new ArrayList<>();
        compare(found, "the space with id", space, other.space);
        compare(found, "home", home, other.home);
        compare(found, "incarnation of the home", homeIncarnation, other.homeIncarnation);
        compare(found, "node", node, other.node);
        compare(found, "incarnation of the node", incarnation, other.incarnation);
        return found;
    }

    private static void compare(List<String> found, String what, Object mine, Object theirs) {
        if (!mine.equals(theirs)) {
            found.add("%s %s, not %s".formatted(what, theirs, mine));
        }
    }

    @Override
    public String toString() {
        return "grant of space %d by home '%s' for node '%s'".formatted(space, home, node);
    }
}
