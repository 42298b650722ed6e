package io.farpage.agent.doctor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The files in which a kernel describes itself. What is not there, not readable or not what it should be is absent,
 * never an error: which files there are depends on kernel, drivers and container.
 *
 * @param root what absolute paths are below
 */
public record Tree(Path root) {
    /** This machine's. */
    public static final Tree REAL = new Tree(Path.of("/"));

    /** Where {@code absolute} is. */
    Path path(String absolute) {
        return root.resolve(absolute.substring(1));
    }

    /** The text of a small file without white space around it; sysfs answers EINVAL for what a driver does not have. */
    Optional<String> text(String absolute) {
        try {
            return Optional.of(Files.readString(path(absolute)).strip());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** The text of a small file, absent if it is empty. */
    Optional<String> word(String absolute) {
        return text(absolute).filter(text -> !text.isEmpty());
    }

    /** The name part of a sysfs state such as {@code 4: ACTIVE}. */
    String afterColon(String absolute) {
        String text = text(absolute).orElse("unknown");
        return text.substring(text.indexOf(':') + 1).strip();
    }

    /** The lines of a small file; none if it is not there. */
    List<String> lines(String absolute) {
        return text(absolute).map(text -> text.lines().toList()).orElse(List.of());
    }

    /** The number in a file; absent too for words such as {@code max}. */
    Optional<Long> number(String absolute) {
        return text(absolute).filter(text -> text.matches("-?\\d{1,18}")).map(Long::parseLong);
    }

    /**
     * Names in a folder, shorter ones first so that {@code port 2} comes before {@code 10}; none if it is not there.
     */
    List<String> names(String absolute) {
        try (Stream<Path> entries = Files.list(path(absolute))) {
            return entries.map(entry -> entry.getFileName().toString())
                    .sorted(Comparator.comparingInt(String::length).thenComparing(Comparator.naturalOrder()))
                    .toList();
        } catch (IOException e) {
            return List.of();
        }
    }

    boolean exists(String absolute) {
        return Files.exists(path(absolute));
    }

    /** Whether this process may read and write it. */
    boolean isUsable(String absolute) {
        return Files.isReadable(path(absolute)) && Files.isWritable(path(absolute));
    }

    /** The name of what a link leads to, such as {@code mlx5_core} for a device's {@code driver}. */
    Optional<String> linkedName(String absolute) {
        try {
            return Optional.of(path(absolute).toRealPath().getFileName().toString());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Whether a kernel module is there, loaded or, as far as it shows itself, built in. */
    boolean hasModule(String name) {
        return exists("/sys/module/" + name);
    }
}
