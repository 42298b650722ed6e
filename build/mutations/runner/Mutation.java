import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * One listed fault: text that is taken out of a source file, text that is put there, and the test classes that must
 * notice it.
 */
record Mutation(
        String list,
        Path file,
        List<String> tests,
        String name,
        List<String> old,
        List<String> put,
        Optional<String> survives) {
    private static final Path LISTS = Path.of("build", "mutations");
    /** Where tests are looked for that are not in the module of their file. */
    private static final List<String> MODULES = List.of("rdma-verbs", "coordinator", "page-agent");

    /** The text of the fault does not occur exactly once in its source file: the list is out of date. */
    static final class OutOfDate extends Exception {
        OutOfDate(String message) {
            super(message);
        }
    }

    /** The names of all lists. */
    static List<String> lists() throws IOException {
        try (Stream<Path> files = Files.list(LISTS)) {
            return files.filter(Files::isRegularFile)
                    .map(file -> file.getFileName().toString())
                    .filter(name -> !name.endsWith(".md"))
                    .sorted()
                    .toList();
        }
    }

    /** The faults of a list, in its order; the format is in build/mutations/README.md. */
    static List<Mutation> read(String list) throws IOException {
        List<Mutation> mutations = new ArrayList<>();
        Optional<Path> file = Optional.empty();
        List<String> tests = List.of();
        String text = Files.readString(LISTS.resolve(list));
        for (String block : text.split("\n\\s*\n")) {
            String name = "";
            List<String> old = new ArrayList<>();
            List<String> put = new ArrayList<>();
            Optional<String> survives = Optional.empty();
            for (String line : block.strip().lines().map(String::strip).toList()) {
                if (line.startsWith("#") || line.isEmpty()) {
                    continue;
                } else if (line.startsWith("file ")) {
                    file = Optional.of(Path.of(line.substring("file ".length())));
                } else if (line.startsWith("tests ")) {
                    tests = List.of(line.substring("tests ".length()).split(" +"));
                } else if (line.startsWith("survives ")) {
                    survives = Optional.of(line.substring("survives ".length()));
                } else if (line.startsWith("- ")) {
                    old.add(line.substring(2).strip());
                } else if (line.startsWith("+ ")) {
                    put.add(line.substring(2).strip());
                } else {
                    name = name.isEmpty() ? line : name + " " + line;
                }
            }
            if (!old.isEmpty()) {
                Path of = file.orElseThrow(() -> new IllegalArgumentException(list + ": no file line before a fault"));
                mutations.add(new Mutation(list, of, tests, name, old, put, survives));
            } else if (!name.isEmpty()) {
                throw new IllegalArgumentException(list + ": \"" + name + "\" takes nothing out");
            }
        }
        return mutations;
    }

    /** The folder of the module that has the tests: the file's own, or one that depends on it. */
    Path module() {
        String test = "src/test/java/" + tests.getFirst().replace('.', '/') + ".java";
        return Stream.concat(Stream.of(own()), MODULES.stream().map(Path::of))
                .filter(module -> Files.exists(module.resolve(test)))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(list + ": no module has the test " + tests.getFirst()));
    }

    /** The folder of the file's module, which is above that of its sources. */
    private Path own() {
        for (int i = 1; i < file.getNameCount(); i++) {
            if (file.getName(i).toString().equals("src")) {
                return file.subpath(0, i);
            }
        }
        throw new IllegalArgumentException(file + " is in no module: src is not in its path");
    }

    String where() {
        return list + ": " + file.getFileName().toString().replace(".java", "") + ": " + name;
    }

    /** The source file with the fault in it. */
    String apply() throws IOException, OutOfDate {
        if (!Files.isRegularFile(file)) {
            throw new OutOfDate("there is no file " + file);
        }
        Pattern pattern = Pattern.compile(old.stream().map(Pattern::quote).collect(Collectors.joining("\\s*\n\\s*")));
        Matcher matcher = pattern.matcher(Files.readString(file));
        long found = matcher.results().count();
        if (found != 1) {
            throw new OutOfDate("its text occurs " + found + " times in " + file + ", not once");
        }
        return matcher.reset().replaceFirst(Matcher.quoteReplacement(String.join("\n", put)));
    }
}
