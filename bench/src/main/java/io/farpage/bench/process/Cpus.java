package io.farpage.bench.process;

import io.farpage.guest.command.CommandException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The CPUs that this process may use. */
public final class Cpus {
    private static final String FIELD = "Cpus_allowed_list:";

    private Cpus() {}

    public static List<Integer> allowed() {
        try {
            return Files.readAllLines(Path.of("/proc/self/status")).stream()
                    .filter(line -> line.startsWith(FIELD))
                    .findFirst()
                    .map(line -> parse(line.substring(FIELD.length()).strip()))
                    .orElse(List.of(0));
        } catch (IOException e) {
            throw new CommandException("cannot read which CPUs this process may use: " + e.getMessage(), e);
        }
    }

    /** Numbers and ranges, as in {@code 0-3,8}. */
    public static List<Integer> parse(String list) {
        return Stream.of(list.split(","))
                .flatMap(part -> {
                    String[] ends = part.split("-");
                    int first = Integer.parseInt(ends[0].strip());
                    return IntStream.rangeClosed(first, ends.length == 1 ? first : Integer.parseInt(ends[1].strip()))
                            .boxed();
                })
                .toList();
    }
}
