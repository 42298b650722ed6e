package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Attached;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Says what each node needs for the spaces that it works with. Remembers the last document that a node was given, so
 * that the next one can leave out what is the same: a node may be attached to spaces of thousands of extents. A node
 * that names another document, or that another coordinator had answered, is given all. Thread-safe.
 */
public final class Attaching {
    private final Ledger ledger;
    private final Grants grants;
    private final Map<String, Given> given = new ConcurrentHashMap<>();

    /**
     * The last document of a node.
     *
     * @param state that it was read from
     * @param grants all that counted then
     */
    private record Given(long mark, State state, Set<Grant> grants) {}

    /** Works on a ledger. */
    public Attaching(Ledger ledger, Grants grants) {
        this.ledger = ledger;
        this.grants = grants;
    }

    /**
     * All that a node needs for the spaces that it works with, as of one revision.
     *
     * @param since mark of the document that the node has applied
     */
    public Attached of(String node, long since) {
        Ledger.Moment now = ledger.moment();
        Draft draft = new Draft(now.state());
        draft.requireNode(node);
        Optional<Given> before = Optional.ofNullable(given.get(node)).filter(each -> each.mark() == since);
        Set<String> homes = new TreeSet<>();
        List<Grant> granted = new ArrayList<>();
        List<Attached.Held> spaces = new ArrayList<>();
        for (Attachment attachment : draft.attachedBy(node)) {
            draft.spaces.find(Keys.id(attachment.space())).ifPresent(space -> {
                SpaceExtents extents = new SpaceExtents(space, now.revision(), draft.extents.of(space));
                spaces.add(held(draft, before.map(Given::state), extents, attachment));
                for (String home : draft.extents.homes(space)) {
                    homes.add(home);
                    grants.find(draft, home, space.id(), node, Optional.empty()).ifPresent(granted::add);
                }
            });
        }
        List<Attached.Pull> pulls = draft.hostedBy(node).stream()
                .flatMap(space -> Pulls.of(draft, space))
                .filter(pull -> pull.to().id().equals(node))
                .map(pull -> new Attached.Pull(pull.space(), pull.extent(), sources(draft, pull)))
                .toList();
        for (Attached.Pull pull : pulls) {
            for (String home : pull.homes()) {
                homes.add(home);
                grants.find(draft, home, pull.space(), node, Optional.of(pull.extent()))
                        .ifPresent(granted::add);
            }
        }
        long mark = ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE);
        remember(node, new Given(mark, now.state(), Set.copyOf(granted)));
        granted.removeAll(before.map(Given::grants).orElse(Set.of()));
        return new Attached(
                now.revision(),
                mark,
                spaces,
                pulls,
                granted,
                homes.stream().flatMap(home -> draft.nodes.find(home).stream()).toList());
    }

    private void remember(String node, Given last) {
        given.put(node, last);
        if (given.size() > last.state().nodes().size()) {
            given.keySet().retainAll(last.state().nodes().keySet());
        }
    }

    private static Attached.Held held(
            Draft draft, Optional<State> before, SpaceExtents extents, Attachment attachment) {
        Space space = extents.space();
        boolean isKnown =
                before.filter(state -> isSame(draft, state, space, attachment)).isPresent();
        return new Attached.Held(
                attachment,
                Fences.isCutOff(draft, space, attachment),
                isKnown ? Optional.empty() : Optional.of(extents));
    }

    /**
     * Whether the rows of an attachment and its space are what they were. Rows that no change has touched are equal at
     * once.
     */
    private static boolean isSame(Draft draft, State before, Space space, Attachment attachment) {
        String key = Keys.id(space.id());
        return attachment.equals(before.attachments().get(Keys.attachment(space.id(), attachment.node())))
                && space.equals(before.spaces().get(key))
                && draft.extents.isAsIn(before, space);
    }

    private static List<String> sources(Draft draft, Pulls.Pull pull) {
        return draft.extents.of(pull.space()).stream()
                .filter(extent -> extent.firstPage() == pull.extent().firstPage())
                .flatMap(extent -> extent.homes().stream())
                .map(ExtentHome::node)
                .toList();
    }
}
