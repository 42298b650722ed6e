package io.farpage.agent.control.archive;

import io.farpage.agent.control.guest.GuestException;
import io.farpage.agent.control.guest.NewSpace;
import io.farpage.agent.control.page.PageException;
import io.farpage.agent.control.page.SpaceImage;
import io.farpage.agent.control.space.Claim;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.control.space.Spaces;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.VmmState;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Saves snapshots to archives and loads them, and keeps the states of VMMs with snapshots. What is loaded is a snapshot
 * when all of it is there; otherwise the coordinator deletes it, also if this agent is killed. Any thread may call it.
 */
public final class SnapshotArchives {
    private static final Logger log = LoggerFactory.getLogger(SnapshotArchives.class);
    /** How long the coordinator may take to learn that a space is not in use. */
    private static final Duration DETACHED = Duration.ofSeconds(30);

    private static final int STATE_PAGE = 4096;

    private final Spaces spaces;
    private final SpaceImage image;
    private final Creation creation;

    /** Makes spaces that are loaded. */
    @FunctionalInterface
    public interface Creation {
        Space create(NewSpace space, Optional<VmmState> file) throws CoordinatorException, GuestException;
    }

    /**
     * Where a snapshot is kept.
     *
     * @param homes the nodes to take memory from; empty for all others than this one
     * @param replicas homes of each page; empty for 1
     * @param nodes that may attach it; empty for all
     */
    public record Keeping(Optional<List<String>> homes, OptionalInt replicas, Optional<List<String>> nodes) {
        /** Copies the lists. */
        public Keeping {
            homes = homes.map(List::copyOf);
            nodes = nodes.map(List::copyOf);
        }
    }

    /** @param image reads and writes what is in spaces */
    public SnapshotArchives(Spaces spaces, SpaceImage image, Creation creation) {
        this.spaces = spaces;
        this.image = image;
        this.creation = creation;
    }

    /** A snapshot that is saved, and the state of its VMM. */
    public final class Saving implements AutoCloseable {
        private final SpaceUse memory;
        private final Optional<SpaceUse> state;

        private Saving(SpaceUse memory, Optional<SpaceUse> state) {
            this.memory = memory;
            this.state = state;
        }

        /**
         * Writes the archive.
         *
         * @throws PageException if pages could not be read; what was written by then is incomplete
         */
        public void write(OutputStream to) throws IOException, PageException, InterruptedException {
            Space space = memory.space();
            ArchiveWriter archive = new ArchiveWriter(
                    to,
                    new ArchiveHeader(
                            ArchiveHeader.FORMAT,
                            space.name(),
                            space.sizeBytes(),
                            space.pageSize(),
                            state.map(use -> OptionalLong.of(use.space().contentBytes()))
                                    .orElse(OptionalLong.empty())));
            if (state.isPresent()) {
                archive.<PageException>state(entry -> image.save(state.get(), entry));
            }
            archive.<PageException>memory(entry -> image.save(memory, entry));
        }

        @Override
        public void close() {
            state.ifPresent(SpaceUse::close);
            memory.close();
        }
    }

    /**
     * Begins to save a snapshot.
     *
     * @throws GuestException if there is none of that name
     */
    public Saving save(String name) throws CoordinatorException, GuestException {
        Space space = require(name);
        SpaceUse memory = use(space);
        boolean done = false;
        try {
            Optional<Space> file = stateOf(space);
            Saving saving = new Saving(memory, file.isPresent() ? Optional.of(use(file.get())) : Optional.empty());
            done = true;
            return saving;
        } finally {
            if (!done) {
                memory.close();
            }
        }
    }

    private SpaceUse use(Space space) throws CoordinatorException, GuestException {
        return spaces.use(space.id())
                .orElseThrow(() -> new GuestException(
                        GuestException.Obstacle.NOT_FOUND, "space '%s' is being deleted".formatted(space.name())));
    }

    /** The space that is a snapshot of a machine. */
    private Space require(String name) throws CoordinatorException, GuestException {
        Space space = spaces.find(name)
                .orElseThrow(() -> new GuestException(
                        GuestException.Obstacle.NOT_FOUND, "there is no space '%s'".formatted(name)));
        if (space.snapshot().isEmpty() || space.vmmState().isPresent()) {
            throw new GuestException(
                    GuestException.Obstacle.CONFLICT,
                    "space '%s' is not the snapshot of a machine; page-agent save saves the memory of any space"
                            .formatted(name));
        }
        return space;
    }

    private Optional<Space> stateOf(Space snapshot) throws CoordinatorException {
        return spaces.all().stream()
                .filter(space -> space.snapshot().isPresent())
                .filter(space -> space.vmmState()
                        .filter(file -> file.snapshot() == snapshot.id())
                        .isPresent())
                .findFirst();
    }

    /**
     * Makes a snapshot of what an archive has.
     *
     * @throws IOException if the archive is damaged or ends early; there is no snapshot then
     * @throws PageException if a home takes no page; there is no snapshot then
     */
    public Space load(String name, Keeping keeping, InputStream from)
            throws IOException, PageException, CoordinatorException, GuestException, InterruptedException {
        ArchiveReader archive = new ArchiveReader(from);
        ArchiveHeader header = archive.header();
        Space memory = create(name, header.sizeBytes(), header.pageSize(), keeping, Optional.empty());
        return fill(memory, use -> {
            if (header.stateBytes().isPresent()) {
                keep(memory, header.stateBytes().getAsLong(), keeping, archive.state());
            }
            image.load(use, archive.memory(), OptionalLong.empty());
        });
    }

    /**
     * Keeps the state of a VMM with a snapshot of its memory.
     *
     * @param bytes how many {@code from} has
     * @throws IOException if it has fewer; no state is kept then
     */
    public Space keepState(String name, long bytes, InputStream from)
            throws IOException, PageException, CoordinatorException, GuestException, InterruptedException {
        Space snapshot = require(name);
        Keeping beside = new Keeping(Optional.empty(), snapshot.replicas(), snapshot.nodes());
        return keep(snapshot, bytes, beside, from);
    }

    private Space keep(Space snapshot, long bytes, Keeping keeping, InputStream from)
            throws IOException, PageException, CoordinatorException, GuestException, InterruptedException {
        VmmState file;
        try {
            file = new VmmState(snapshot.id(), bytes);
        } catch (IllegalArgumentException e) {
            throw new GuestException(GuestException.Obstacle.INVALID, String.valueOf(e.getMessage()));
        }
        String name = snapshot.name() + VmmState.SUFFIX;
        Space space = create(name, file.spaceBytes(STATE_PAGE), STATE_PAGE, keeping, Optional.of(file));
        return fill(space, use -> image.load(use, from, OptionalLong.of(bytes)));
    }

    /** Loads a space, which this node uses alone meanwhile. */
    @FunctionalInterface
    private interface Filling {
        void fill(SpaceUse use)
                throws IOException, PageException, CoordinatorException, GuestException, InterruptedException;
    }

    /** Loads a space. The coordinator makes it a snapshot, or deletes it, when it learns that the use has ended. */
    private Space fill(Space space, Filling filling)
            throws IOException, PageException, CoordinatorException, GuestException, InterruptedException {
        SpaceUse alone = useAlone(space);
        CountDownLatch detached = new CountDownLatch(1);
        alone.whenDetached(detached::countDown);
        try (alone) {
            filling.fill(alone);
        } finally {
            if (!detached.await(DETACHED.toSeconds(), TimeUnit.SECONDS)) {
                log.warn("the coordinator has not learned within {} that space {} is loaded", DETACHED, space.name());
            }
        }
        return requireMade(space);
    }

    private Space create(String name, long bytes, int pageSize, Keeping keeping, Optional<VmmState> file)
            throws CoordinatorException, GuestException {
        NewSpace space = new NewSpace(
                name,
                bytes,
                OptionalInt.of(pageSize),
                keeping.homes(),
                keeping.replicas(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                keeping.nodes());
        return creation.create(space, file);
    }

    private SpaceUse useAlone(Space space) throws CoordinatorException, GuestException {
        return spaces.useExclusively(space.id(), Claim.PLAIN)
                .orElseThrow(() -> new GuestException(
                        GuestException.Obstacle.CONFLICT,
                        "space '%s' was deleted while it was loaded".formatted(space.name())));
    }

    private Space requireMade(Space space) throws CoordinatorException, GuestException {
        return spaces.find(Long.toString(space.id()))
                .filter(now -> now.snapshot().isPresent())
                .orElseThrow(() -> new GuestException(
                        GuestException.Obstacle.CONFLICT,
                        ("the coordinator has not made a snapshot of space '%s' (id %d), which is loaded; it was"
                                        + " deleted, or the coordinator is away: page-agent space show tells")
                                .formatted(space.name(), space.id())));
    }
}
