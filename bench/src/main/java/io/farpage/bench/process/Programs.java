package io.farpage.bench.process;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * How farpage's programs are started: through the launchers beside the one that started this JVM, which says where they
 * are in the system property {@value #LAUNCHERS}; otherwise, as in an IDE or a test, with this JVM's own flags and
 * class path.
 */
public sealed interface Programs {
    /** The directory of the launchers. */
    String LAUNCHERS = "farpage.bin";

    /** The environment variable in which the launchers look for flags of the JVM. */
    String OPTIONS = "FARPAGE_JAVA_OPTS";

    /** The launchers of an installation. */
    record Launchers(Path directory) implements Programs {
        @Override
        public List<String> command(String program, List<String> jvmFlags) {
            String launcher = directory.resolve(program).toString();
            if (jvmFlags.isEmpty()) {
                return List.of(launcher);
            }
            String before = Optional.ofNullable(System.getenv(OPTIONS)).orElse("");
            return List.of("env", OPTIONS + "=" + before + " " + String.join(" ", jvmFlags), launcher);
        }
    }

    /** Main classes on a class path. */
    record ClassPath(Path java, List<String> flags, String classPath) implements Programs {
        private static final Map<String, String> MAIN_CLASSES = Map.of(
                "coordinator", "io.farpage.coordinator.Main",
                "page-agent", "io.farpage.agent.Main",
                "page-bench", "io.farpage.bench.Main");

        public ClassPath {
            flags = List.copyOf(flags);
        }

        @Override
        public List<String> command(String program, List<String> jvmFlags) {
            String main = Optional.ofNullable(MAIN_CLASSES.get(program))
                    .orElseThrow(() -> new IllegalArgumentException("no program is called " + program));
            List<String> command = new ArrayList<>(List.of(java.toString()));
            command.addAll(flags);
            command.addAll(jvmFlags);
            command.addAll(List.of("-cp", classPath, main));
            return command;
        }
    }

    /** The words that start a program; its arguments follow. */
    default List<String> command(String program) {
        return command(program, List.of());
    }

    /**
     * As {@link #command(String)}.
     *
     * @param jvmFlags beside those that the program has anyway; the later of two that contradict each other counts
     */
    List<String> command(String program, List<String> jvmFlags);

    /** Those that belong to this JVM. */
    static Programs ofThisJvm() {
        String launchers = System.getProperty(LAUNCHERS);
        if (launchers != null) {
            return new Launchers(Path.of(launchers));
        }
        List<String> flags = new ArrayList<>();
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(Programs::isForChildren)
                .forEach(flags::add);
        return new ClassPath(
                Path.of(System.getProperty("java.home"), "bin", "java"), flags, System.getProperty("java.class.path"));
    }

    /**
     * Whether a flag of this JVM is for its children, too. An agent (debugger, profiler) is not, and an AOT cache is
     * one program's. Without the second compiler, which the JVM of a short test leaves out, no allocation is removed.
     */
    private static boolean isForChildren(String flag) {
        return !flag.startsWith("-agent")
                && !flag.startsWith("-javaagent")
                && !flag.contains("AOT")
                && !flag.contains("TieredStopAtLevel");
    }
}
