package io.farpage.bench.footprint;

import io.farpage.bench.cluster.Coordinator;
import io.farpage.bench.process.Children;
import io.farpage.bench.process.Cpus;
import io.farpage.bench.process.Installation;
import io.farpage.bench.process.Programs;
import io.farpage.bench.report.Conditions;
import io.farpage.progress.Progress;
import io.farpage.progress.Unit;
import io.farpage.rest.Json;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code page-bench footprint}. */
@Command(
        name = "footprint",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Starts a coordinator and agents on this machine, and prints the memory, the threads and the"
                + " descriptors of an agent that is idle, of each guest, of each link, and of each page of a guest.")
public final class FootprintCommand implements Callable<Integer> {
    private static final Duration START_TIMEOUT = Duration.ofMinutes(2);

    @Mixin
    private final FootprintOptions options = new FootprintOptions();

    @Override
    public Integer call() throws InterruptedException {
        options.check(Cpus.allowed().size());
        Conditions conditions = Conditions.ofThisMachine(1, Installation.root());
        List<Section> sections = new ArrayList<>();
        List<String> leftOut = new ArrayList<>();
        try (Children children =
                        Children.open(Programs.ofThisJvm(), options.report().resolve("logs"), START_TIMEOUT);
                Progress progress = options.progress().startForMeasuring("starting the coordinator", Unit.of("steps"));
                Coordinator coordinator = Coordinator.start(children)) {
            progress.total(options.parts().stream()
                    .mapToLong(part -> steps(part, options))
                    .sum());
            Bench bench =
                    new Bench(children, coordinator, progress, options, JvmFigures.with(children.scratch()), leftOut);
            for (FootprintOptions.Part part : options.parts()) {
                sections.addAll(measure(bench, part));
            }
            progress.label("footprint");
            progress.finish();
        }
        System.out.println(options.json() ? json(conditions, sections, leftOut) : text(conditions, sections, leftOut));
        return 0;
    }

    private static long steps(FootprintOptions.Part part, FootprintOptions options) {
        return switch (part) {
            case IDLE -> 2;
            case LINKS -> 2;
            case GUESTS -> BusyAgent.steps(options);
            case PAGES -> PagedSpaces.steps();
        };
    }

    private static List<Section> measure(Bench bench, FootprintOptions.Part part) throws InterruptedException {
        return switch (part) {
            case IDLE -> IdleAgent.measure(bench);
            case GUESTS -> BusyAgent.measure(bench);
            case LINKS -> LinkedAgent.measure(bench);
            case PAGES -> PagedSpaces.measure(bench);
        };
    }

    private static String text(Conditions conditions, List<Section> sections, List<String> leftOut) {
        StringBuilder text = new StringBuilder(
                "%s, %s, %d CPUs%n%n".formatted(conditions.kernel(), conditions.cpuModel(), conditions.cpus()));
        sections.forEach(section -> text.append(section.text()).append('\n'));
        leftOut.forEach(what -> text.append("left out: ").append(what).append('\n'));
        return text.toString().stripTrailing();
    }

    private static String json(Conditions conditions, List<Section> sections, List<String> leftOut) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("conditions", conditions);
        json.put("sections", sections.stream().map(Section::json).toList());
        json.put("leftOut", leftOut);
        return Json.STRICT.writeValueAsString(json);
    }
}
