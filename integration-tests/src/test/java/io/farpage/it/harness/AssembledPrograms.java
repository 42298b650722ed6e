package io.farpage.it.harness;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The programs in target/farpage, as {@code bin/launch} runs them: with the cache of their classes that the build made,
 * unless a jar is newer.
 */
final class AssembledPrograms {
    private static final Path BUILT = Path.of(System.getProperty("farpage.root"), "target", "farpage");

    /** The class path, and the cache if there is one. */
    static final List<String> ARGUMENTS = arguments();

    private AssembledPrograms() {}

    private static List<String> arguments() {
        try {
            List<Path> jars = jars();
            List<String> arguments = new ArrayList<>();
            Path cache = BUILT.resolve("programs.aot");
            if (Files.exists(cache) && isCurrent(cache, jars)) {
                arguments.addAll(List.of("-XX:AOTCache=" + cache, "-Xlog:aot=off", "-Xlog:cds=off"));
            }
            arguments.add("-cp");
            arguments.add(jars.stream().map(Path::toString).collect(Collectors.joining(":")));
            return List.copyOf(arguments);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<Path> jars() throws IOException {
        List<Path> jars = new ArrayList<>();
        try (DirectoryStream<Path> found = Files.newDirectoryStream(BUILT.resolve("lib"), "*.jar")) {
            found.forEach(jars::add);
        }
        // A cache is for a class path, so the order is that of bin/launch.
        jars.sort(Comparator.comparing(jar -> jar.getFileName().toString()));
        return jars;
    }

    private static boolean isCurrent(Path cache, List<Path> jars) throws IOException {
        for (Path jar : jars) {
            if (Files.getLastModifiedTime(jar).compareTo(Files.getLastModifiedTime(cache)) > 0) {
                return false;
            }
        }
        return true;
    }
}
