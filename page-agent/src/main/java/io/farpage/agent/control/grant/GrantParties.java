package io.farpage.agent.control.grant;

import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.Incarnation;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What a grant is about.
 *
 * @param space id of the space
 * @param home node whose pool holds pages of it
 * @param homeIncarnation of the home
 * @param node that is attached to the space
 * @param incarnation of that node
 * @param attachment id of that attachment; 0 if the node pulls
 * @param pull the extent that the node may read to pull it, in the epoch of the pull; empty if it is attached, and may
 *     read and write
 */
public record GrantParties(
        long space,
        String home,
        Incarnation homeIncarnation,
        String node,
        Incarnation incarnation,
        long attachment,
        Optional<ExtentEpoch> pull) {
    /** As the coordinator says. */
    static GrantParties of(Grant grant) {
        return new GrantParties(
                grant.space(),
                grant.home(),
                grant.homeIncarnation(),
                grant.node(),
                grant.incarnation(),
                grant.attachment(),
                grant.pull());
    }

    /** Whether a grant is said to be of that home for that use. Incarnations and seal are checked when it is opened. */
    boolean isFor(Grant grant) {
        return grant.space() == space
                && grant.home().equals(home)
                && grant.attachment() == attachment
                && grant.pull().equals(pull);
    }

    /** The associated data of the seal. */
    byte[] encoded() {
        String use = pull.map(extent -> "pull %d %d".formatted(extent.firstPage(), extent.epoch()))
                .orElseGet(() -> "attachment " + attachment);
        return "farpage grant 2 %d %s/%s %s/%s %s"
                .formatted(space, home, homeIncarnation, node, incarnation, use)
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
        compare(found, "attachment", attachment, other.attachment);
        return found;
    }

    private static void compare(List<String> found, String what, Object mine, Object theirs) {
        if (!mine.equals(theirs)) {
            found.add("%s %s, not %s".formatted(what, theirs, mine));
        }
    }

    @Override
    public String toString() {
        return pull.map(extent -> "grant of reads of the extent at page %d of space %d in epoch %d"
                                .formatted(extent.firstPage(), space, extent.epoch()))
                        .orElseGet(() -> "grant of space %d".formatted(space))
                + " by home '%s' for node '%s'".formatted(home, node);
    }
}
