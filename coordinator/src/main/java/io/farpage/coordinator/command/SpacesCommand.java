package io.farpage.coordinator.command;

import io.farpage.config.Quantities;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceUse;
import java.io.PrintWriter;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code coordinator spaces}: the spaces, a line each. */
@Command(
        name = "spaces",
        description = {
            "Lists spaces in the order of their names, with the copies of each page and the nodes that hold and use"
                    + " them.",
            "'space show' tells where the extents of one are."
        },
        mixinStandardHelpOptions = true)
public final class SpacesCommand implements Callable<Integer> {

    @Mixin
    private final ViewOptions options = new ViewOptions();

    @Mixin
    private final PageOptions page = new PageOptions();

    @Spec
    private @Nullable CommandSpec spec;

    SpacesCommand() {}

    @Override
    public Integer call() throws CoordinatorException {
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        try (CoordinatorClient client = options.client()) {
            List<SpaceUse> spaces = client.spaceUses(page.filter(null, false));
            if (options.json()) {
                ViewOptions.printJson(out, spaces);
            } else {
                print(out, spaces);
                page.printMore(out, spaces, use -> use.space().name());
            }
            return 0;
        }
    }

    private static void print(PrintWriter out, List<SpaceUse> spaces) {
        TextTable table =
                new TextTable("SPACE", "ID", "SIZE", "ALLOCATED", "PAGES", "COPIES", "STATE", "HOMES", "ATTACHED");
        for (SpaceUse use : spaces) {
            Space space = use.space();
            table.add(
                    space.name(),
                    Long.toString(space.id()),
                    Quantities.formatBytes(space.sizeBytes()),
                    use.allocatedBytes().isPresent()
                            ? Quantities.formatBytes(use.allocatedBytes().getAsLong())
                            : space.base().isPresent() ? "none" : "all",
                    Quantities.formatBytes(space.pageSize()),
                    Integer.toString(space.copies()),
                    use.condition(),
                    String.join(",", use.homes()),
                    use.attachments().isEmpty()
                            ? "-"
                            : use.attachments().stream().map(Attachment::node).collect(Collectors.joining(",")));
        }
        table.print(out);
    }
}
