package io.farpage.agent.control.mount;

import io.farpage.agent.control.page.PageTool;
import io.farpage.agent.control.page.SpacePresence;
import io.farpage.agent.control.page.SpaceReader;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.mount.ReadableFile;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Space;
import java.util.List;
import java.util.Optional;

/** The snapshots of the cluster that this node may attach. Any thread. */
public final class SnapshotSpaces {
    private final String node;
    private final Spaces spaces;
    private final SpacePresence presence;
    private final PageTool pages;

    /**
     * @param node this node
     * @param presence of the pages that need not be fetched
     * @param pages reads the others
     */
    public SnapshotSpaces(String node, Spaces spaces, SpacePresence presence, PageTool pages) {
        this.node = node;
        this.spaces = spaces;
        this.presence = presence;
        this.pages = pages;
    }

    private boolean isShown(Space space) {
        return space.snapshot().isPresent() && !space.deleting() && space.mayAttach(node);
    }

    /** All of them. */
    List<Space> all() throws CoordinatorException {
        return spaces.all().stream().filter(this::isShown).toList();
    }

    /** The one of a name. */
    Optional<Space> find(String name) throws CoordinatorException {
        return Space.idOf(name).isPresent()
                ? Optional.empty()
                : spaces.find(name).filter(this::isShown);
    }

    /** The one with an id, also if it is being deleted. */
    Optional<Space> find(long id) throws CoordinatorException {
        return spaces.find(Long.toString(id)).filter(space -> space.snapshot().isPresent());
    }

    /** Begins to use one; empty if there is no such space, or it is being deleted. */
    Optional<SnapshotFile.Reading> open(long id) throws CoordinatorException, InterruptedException {
        Optional<SpaceUse> begun = spaces.use(id);
        if (begun.isEmpty()) {
            return Optional.empty();
        }
        SpaceUse use = begun.get();
        boolean done = false;
        try {
            SpaceReader reader = new SpaceReader(pages, use, presence.read(use));
            SnapshotFile.Reading reading = new SnapshotFile.Reading(
                    use, new ReadableFile(SnapshotFile.node(id), reader.size(), use::map, reader.runs()), reader);
            done = true;
            return Optional.of(reading);
        } finally {
            if (!done) {
                use.close();
            }
        }
    }
}
