package io.farpage.coordinator.command;

import io.farpage.config.Quantities;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceUse;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code coordinator guests}: the nodes that work with spaces, a line for each space and node. */
@Command(
        name = "guests",
        description = {
            "Lists where guests run: each node that is attached to a space, in the order of the spaces' names.",
            "The options for pages count spaces. 'page-agent guests' on the node shows residence and latencies."
        },
        mixinStandardHelpOptions = true)
public final class GuestsCommand implements Callable<Integer> {

    @Mixin
    private final ViewOptions options = new ViewOptions();

    @Mixin
    private final PageOptions page = new PageOptions();

    @Option(names = "--node", paramLabel = "NODE", description = "Only guests on this node.")
    private @Nullable String node;

    @Spec
    private @Nullable CommandSpec spec;

    GuestsCommand() {}

    /** A guest, as {@code --json} prints it. */
    record Guest(Space space, String state, Attachment attachment) {}

    @Override
    public Integer call() throws CoordinatorException {
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        try (CoordinatorClient client = options.client()) {
            List<SpaceUse> spaces = client.spaceUses(page.filter(null, false));
            List<Guest> guests = spaces.stream()
                    .flatMap(use -> use.attachments().stream()
                            .filter(attached -> node == null || attached.node().equals(node))
                            .map(attached -> new Guest(use.space(), use.condition(), attached)))
                    .toList();
            if (options.json()) {
                ViewOptions.printJson(out, guests);
            } else {
                print(out, guests);
                page.printMore(out, spaces, use -> use.space().name());
            }
            return 0;
        }
    }

    private static void print(PrintWriter out, List<Guest> guests) {
        TextTable table = new TextTable("SPACE", "NODE", "MODE", "SIZE", "COPIES", "STATE", "INCARNATION");
        for (Guest guest : guests) {
            table.add(
                    guest.space().name(),
                    guest.attachment().node(),
                    guest.attachment().mode().name().toLowerCase(Locale.ROOT),
                    Quantities.formatBytes(guest.space().sizeBytes()),
                    Integer.toString(guest.space().copies()),
                    guest.state(),
                    guest.attachment().incarnation().toString());
        }
        table.print(out);
    }
}
