package io.farpage.coordinator.rebuild;

import static io.farpage.coordinator.rebuild.Reports.attached;
import static io.farpage.coordinator.rebuild.Reports.onBandC;
import static io.farpage.coordinator.rebuild.Reports.registration;
import static io.farpage.coordinator.rebuild.Reports.report;
import static io.farpage.coordinator.rebuild.Reports.seen;
import static io.farpage.coordinator.rebuild.Reports.space;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.cluster.Ledger;
import io.farpage.coordinator.cluster.State;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Encryption;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAttachment;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.Torn;
import io.farpage.coordinator.store.MvStore;
import io.farpage.coordinator.store.Store;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a rebuild leaves of the marks of a space: torn, encrypted, for some nodes only. */
class RebuiltMarksTest {

    private final Store store;

    RebuiltMarksTest(@TempDir Path directory) {
        this.store = MvStore.open(directory.resolve("store"));
    }

    @AfterEach
    void close() {
        store.close();
    }

    private State state() {
        return new Ledger(store, 10, nanos -> {}).state();
    }

    private static SpaceExtents torn(SpaceExtents space) {
        Torn torn = new Torn("its guest was killed", Instant.EPOCH);
        return new SpaceExtents(space.space().withTorn(Optional.of(torn)), space.index(), space.extents());
    }

    @Test
    void shouldKeepTheTornMarkWhenAnyHomeKnowsIt() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", List.of(onBandC())));
        rebuild.report("c", report("c", List.of(torn(onBandC()))));
        rebuild.finish(Set.of());
        assertEquals(
                "its guest was killed",
                state().space("vm").flatMap(Space::torn).orElseThrow().reason());
    }

    private static SpaceExtents sealed(SpaceExtents space, long index, String mark) {
        Encryption encryption = new Encryption("0123456789abcdef", Optional.of(new Encryption.Sealed(mark, "b")));
        return new SpaceExtents(space.space().withEncryption(Optional.of(encryption)), index, space.extents());
    }

    @Test
    void shouldKeepThatASpaceIsEncryptedAndItsLatestMark() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        String latest = "f".repeat(32);
        rebuild.report("b", report("b", List.of(sealed(onBandC(), 20, latest))));
        rebuild.report("c", report("c", List.of(sealed(onBandC(), 10, "0".repeat(32)))));
        rebuild.finish(Set.of());
        assertEquals(
                latest,
                state().space("vm")
                        .flatMap(Space::encryption)
                        .flatMap(Encryption::sealed)
                        .orElseThrow()
                        .mark());
    }

    @Test
    void shouldEndTheTornMarkWhenTheNodeThatAttachedByForceSaysSo() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", List.of(torn(space(5, "vm", "b", 0, 8)))));
        rebuild.report("a", attached("a", AttachMode.EXCLUSIVE, space(5, "vm", "b", 0, 8)));
        rebuild.finish(Set.of());
        assertTrue(state().space("vm").orElseThrow().torn().isEmpty());
    }

    /** The guest ended while the coordinator was away, and its agent has not detached yet. */
    @Test
    void shouldMarkASpaceTornThatAnAgentCouldNotSave() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        SpaceExtents vm = space(5, "vm", "b", 0, 8);
        rebuild.report("b", report("b", List.of(vm)));
        rebuild.report(
                "a",
                new NodeReport(
                        Optional.of(seen(120)),
                        registration("a"),
                        Hosted.NOTHING,
                        List.of(vm),
                        List.of(new NodeReport.Held(5, AttachMode.EXCLUSIVE, Optional.of("no home answered"), false)),
                        List.of(),
                        List.of()));
        rebuild.finish(Set.of());
        assertEquals(
                "no home answered",
                state().space("vm").flatMap(Space::torn).orElseThrow().reason());
    }

    private static SpaceExtents withNodes(SpaceExtents space, long index, String... nodes) {
        Optional<List<String>> list = nodes.length == 0 ? Optional.empty() : Optional.of(List.of(nodes));
        return new SpaceExtents(space.space().withNodes(list), index, space.extents());
    }

    @Test
    void shouldKeepTheLatestListOfNodesThatMayAttachASpace() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        rebuild.report("b", report("b", List.of(withNodes(onBandC(), 20, "b"))));
        rebuild.report("c", report("c", List.of(withNodes(onBandC(), 10, "a", "c"))));
        rebuild.finish(Set.of());
        assertEquals(Optional.of(List.of("b")), state().space("vm").flatMap(Space::nodes));
    }

    /** The keys that a node has are of that attachment: with another id its homes would revoke them. */
    @Test
    void shouldKeepTheIdThatHomesKnowOfAnAttachment() {
        Rebuild rebuild = new Rebuild(store, Set.of());
        Incarnation a = registration("a").incarnation();
        rebuild.report("b", knowing("b", new HostedAttachment(5, "a", a, 8, 1)));
        rebuild.report("c", knowing("c", new HostedAttachment(5, "a", a, 9, 1)));
        rebuild.report("a", attached("a", AttachMode.EXCLUSIVE, onBandC()));
        rebuild.finish(Set.of());
        assertEquals(
                List.of(new Attachment(5, "a", a, AttachMode.EXCLUSIVE, 9)),
                List.copyOf(state().attachments().values()));
    }

    private static NodeReport knowing(String home, HostedAttachment attachment) {
        return new NodeReport(
                Optional.of(seen(100)),
                registration(home),
                new Hosted(100, List.of(onBandC()), List.of(), List.of(attachment), List.of(), List.of()),
                List.of(),
                List.of(),
                List.of(),
                List.of());
    }
}
