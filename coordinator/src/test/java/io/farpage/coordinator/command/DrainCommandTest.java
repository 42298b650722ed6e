package io.farpage.coordinator.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.Main;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.model.CopyReport;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.server.Running;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("portable")
class DrainCommandTest {

    private final Running running;

    DrainCommandTest(@TempDir Path directory) {
        running = new Running(directory);
    }

    @AfterEach
    void stop() {
        running.close();
    }

    private int drain(String... more) {
        List<String> arguments = new ArrayList<>(
                List.of("drain", "a", "--coordinator", running.coordinator.url().toString()));
        arguments.addAll(List.of(more));
        return Main.execute(arguments.toArray(String[]::new));
    }

    @Test
    void shouldEndAtOnceIfTheNodeHoldsNothing() throws Exception {
        running.client.register("a", Fixture.node(1, 1 << 20));
        assertEquals(1, drain("--status"));
        assertEquals(0, drain());
        assertEquals(0, drain("--status"));
        assertEquals(0, drain("--cancel"));
        assertEquals(1, drain("--status"), "the node is no longer drained, and holds nothing by chance");
    }

    @Test
    void shouldSayWhatKeepsANodeWhenTheTimeIsOver() throws Exception {
        running.client.register("a", Fixture.node(1, 1 << 20));
        running.client.createSpace(new SpaceRequest("vm", 4096, OptionalInt.empty(), Optional.of(List.of("a"))));
        assertEquals(1, drain("--timeout", "300ms"));
        assertTrue(running.client.drained("a").reasons().getFirst().contains("no other active node"));
        running.client.deleteSpace("vm");
        assertFalse(running.client.drained("a").drained(), "the pages are not zeroed");
    }

    @Test
    void shouldCreateACoherentSpaceAndNameWhatItCannotBe() throws Exception {
        running.client.register("a", Fixture.node(1, 1 << 20));
        String url = running.coordinator.url().toString();
        String[] create = {"space", "create", "vm", "--coordinator", url, "--size", "8KiB", "--coherent"};
        Commands.Outcome made = Commands.run(create);
        assertEquals(0, made.code(), made.err());
        assertTrue(made.out().contains("coherent: up to 16 nodes use it at once"), made.out());
        String[] shown = {"space", "show", "vm", "--coordinator", url};
        assertTrue(Commands.run(shown).out().contains("coherent: "));
        String[] thin = {"space", "create", "thin", "--coordinator", url, "--size", "8KiB", "--coherent", "--thin"};
        Commands.Outcome refused = Commands.run(thin);
        assertEquals(1, refused.code(), refused.err());
        assertTrue(refused.err().contains("thin: true, but a coherent space cannot be thin"), refused.err());
    }

    @Test
    void shouldWaitForTheHomesOfASpaceAndSayWhyTheyAreMissing() throws Exception {
        running.client.register("a", Fixture.node(1, 1 << 20));
        running.client.createSpace(new SpaceRequest("vm", 4096, OptionalInt.empty(), Optional.of(List.of("a"))));
        String[] show = {
            "space", "show", "vm", "--coordinator", running.coordinator.url().toString(), "--wait", "300ms"
        };
        assertEquals(0, Commands.run(show).code());
        running.client.drain("a");
        Commands.Outcome waited = Commands.run(show);
        assertEquals(1, waited.code(), waited.err());
        assertTrue(waited.out().startsWith("space vm (id "), waited.out());
        assertTrue(waited.out().contains("copies of 8192 bytes are missing, 0 of them copied"), waited.out());
        assertTrue(waited.out().contains("1 extents: "), waited.out());
    }

    @Test
    void shouldTakeReportsOfCopiesOfTheNodeItself() throws Exception {
        running.client.register("a", Fixture.node(1, 1 << 20));
        running.client.reportCopies("a", new CopyReport(new Incarnation(1), List.of()));
        assertThrows(
                CoordinatorRefusedException.class,
                () -> running.client.reportCopies("a", new CopyReport(new Incarnation(2), List.of())));
        assertThrows(
                CoordinatorRefusedException.class,
                () -> running.client.reportCopies("b", new CopyReport(new Incarnation(1), List.of())));
        assertTrue(running.client.repair("absent").isEmpty());
    }

    @Test
    void shouldRefuseANodeThatIsNotRegistered() {
        assertEquals(1, drain());
    }
}
