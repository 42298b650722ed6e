package io.farpage.bench.footprint;

import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.guest.command.CommandException;
import io.farpage.guest.vmm.GuestMemory;
import io.farpage.guest.vmm.Handoff;
import io.farpage.linux.crypto.LibCrypto;
import io.farpage.linux.uffd.PagedAccess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What an agent takes for each page of a guest: the slope between a small and a large space of each kind. Used by one
 * thread.
 */
final class PagedSpaces {
    private static final int PAGE = 4096;
    /** Large to small. */
    private static final int FACTOR = 8;
    /** Pages from one that is touched to the next: four of them for each page of a table with a byte for each. */
    private static final int STRIDE = 1024;

    /** Guests of each size; the median of their differences counts. */
    private static final int ROUNDS = 3;

    private static final long SLACK = 8L << 20;

    private final Bench bench;
    private final Spaces spaces;
    private final Agent agent;
    private final List<String> homes;
    private final MemorySegment page = Arena.ofAuto().allocate(PAGE, Long.BYTES);
    private int made;

    /** What spaces are compared. */
    private enum Kind {
        EXCLUSIVE("one home"),
        MIRRORED("two homes"),
        ENCRYPTED("encrypted"),
        THIN("thin"),
        CLONE("clone");

        private final String label;

        Kind(String label) {
            this.label = label;
        }
    }

    /** What a guest adds when its memory was handed over, and when pages all over it were touched. */
    private record Added(Figures untouched, Figures touched) {}

    private PagedSpaces(Bench bench, Spaces spaces, Agent agent, List<String> homes) {
        this.bench = bench;
        this.spaces = spaces;
        this.agent = agent;
        this.homes = homes;
    }

    static long steps() {
        return Kind.values().length;
    }

    static List<Section> measure(Bench bench) throws InterruptedException {
        long room = bench.options().space() + bench.options().space() / FACTOR + SLACK;
        Map<String, String> ofHome = Map.of("pool.exported", Long.toString(room));
        bench.progress().label("pages: starting agents");
        try (Spaces spaces = new Spaces(bench);
                Peers homes = Peers.start(bench, "store", 0, 2, ofHome);
                Agent agent = Agent.startSteady(bench, "paged", Agent.HEAP_MIB, seal(bench))) {
            return List.of(new PagedSpaces(bench, spaces, agent, homes.ids()).measure());
        }
    }

    /** Where the agent finds a key for encrypted spaces, made for this run, and where it keeps tags. */
    private static Map<String, String> seal(Bench bench) {
        Path scratch = bench.children().scratch();
        byte[] random = new byte[32];
        new SecureRandom().nextBytes(random);
        try {
            Path keys = Files.createDirectories(scratch.resolve("keys"));
            Path key = Files.writeString(
                    keys.resolve("default.key"), HexFormat.of().formatHex(random));
            Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-------"));
            return Map.of(
                    "seal.keys", keys.toString(),
                    "seal.directory", scratch.resolve("seal").toString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Section measure() throws InterruptedException {
        List<Row> rows = new ArrayList<>();
        for (Kind kind : Kind.values()) {
            Optional<String> obstacle = obstacle(kind);
            if (obstacle.isPresent()) {
                bench.leftOut().add("pages, " + kind.label + ": " + obstacle.get());
                bench.step("pages");
                continue;
            }
            long large = bench.options().space();
            long small = large / FACTOR;
            // The first guest of a kind loads classes.
            guest(kind, small);
            double pages = (double) (large - small) / PAGE;
            List<Figures> ofUntouched = new ArrayList<>();
            List<Figures> ofTouched = new ArrayList<>();
            for (int round = 0; round < ROUNDS; round++) {
                Added ofSmall = guest(kind, small);
                Added ofLarge = guest(kind, large);
                ofUntouched.add(ofLarge.untouched().minus(ofSmall.untouched()).dividedBy(pages));
                ofTouched.add(ofLarge.touched().minus(ofSmall.touched()).dividedBy(pages));
            }
            Figures untouched = Figures.median(ofUntouched);
            Figures touched = Figures.median(ofTouched);
            String name = "%s, %d MiB to %d MiB".formatted(kind.label, small >> 20, large >> 20);
            rows.add(new Row(name, untouched.only(Measure.ALLOCATED, Measure.PRIVATE, Measure.HEAP, Measure.BUFFERS)));
            rows.add(new Row(
                    "  each %dth page read".formatted(STRIDE),
                    touched.only(Measure.ALLOCATED, Measure.PRIVATE, Measure.HEAP, Measure.BUFFERS)));
            bench.step("pages: " + kind.label + " is done");
        }
        return new Section(
                "pages",
                "each page of 4 KiB of a guest's memory: slope over its size, median of %d".formatted(ROUNDS),
                rows);
    }

    private static Optional<String> obstacle(Kind kind) {
        return kind == Kind.ENCRYPTED && LibCrypto.load(Optional.empty()) instanceof LibCrypto.Loading.Failed failed
                ? Optional.of(failed.toString())
                : Optional.empty();
    }

    private Added guest(Kind kind, long bytes) throws InterruptedException {
        bench.progress().label("pages: %s, %d MiB".formatted(kind.label, bytes >> 20));
        String space = "pages-" + made++;
        Path socket = bench.children().scratch().resolve(space + ".sock");
        Optional<String> snapshot = make(kind, space, bytes);
        boolean isMade = kind == Kind.THIN || kind == Kind.CLONE;
        Figures before = agent.settled();
        agent.client()
                .attach(
                        space,
                        Spaces.guest(
                                socket,
                                isMade ? OptionalLong.empty() : OptionalLong.of(bytes),
                                isMade ? List.of() : homes.subList(0, kind == Kind.MIRRORED ? 2 : 1),
                                kind == Kind.ENCRYPTED));
        Added added;
        GuestMemory memory = GuestMemory.map(GuestMemory.Backing.MEMFD, bytes);
        try (Handoff _ = Handoff.of(memory, socket)) {
            awaitRunning(space);
            Figures untouched = agent.settled().minus(before);
            for (long at = 0; at < bytes; at += (long) STRIDE * PAGE) {
                PagedAccess.read(memory.address() + at, page);
            }
            added = new Added(untouched, agent.settled().minus(before));
        } finally {
            memory.close();
        }
        spaces.delete(agent, space);
        snapshot.ifPresent(of -> spaces.ask(asked -> asked.deleteSpace(of)));
        return added;
    }

    /** Makes a space that the request of its guest cannot make; the snapshot below it, if it is a clone. */
    private Optional<String> make(Kind kind, String space, long bytes) {
        if (kind == Kind.THIN) {
            spaces.ask(asked -> asked.createSpace(SpaceRequest.of(space, bytes).asThin()));
        } else if (kind == Kind.CLONE) {
            String below = space + "-snapshot";
            spaces.ask(asked -> asked.createSpace(SpaceRequest.of(below, bytes).asThin()));
            spaces.ask(asked -> asked.makeSnapshot(below));
            spaces.ask(asked -> asked.makeClone(below, new CloneRequest(space)));
            return Optional.of(below);
        }
        return Optional.empty();
    }

    private void awaitRunning(String space) throws InterruptedException {
        long end = System.nanoTime() + 60_000_000_000L;
        while (!agent.client().guest(space).state().equals("attached")) {
            if (System.nanoTime() - end > 0) {
                throw new CommandException("the guest of %s does not run after 60 s: %s"
                        .formatted(space, agent.child().lastWords()));
            }
            Thread.sleep(10);
        }
    }
}
