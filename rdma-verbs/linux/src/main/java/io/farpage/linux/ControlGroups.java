package io.farpage.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The control groups of a process, of both versions (cgroups(7)). */
public final class ControlGroups {
    private ControlGroups() {}

    /**
     * The folders of the groups of this process that may limit {@code controller}: the own ones first, then all above.
     */
    public static Stream<Path> above(String controller) {
        return above("self", controller, Path.of("/proc"), Path.of("/sys/fs/cgroup"));
    }

    /**
     * As {@link #above(String)} for any process.
     *
     * @param process its id, or {@code self}
     * @param proc where procfs is
     * @param cgroups where the groups are
     */
    static Stream<Path> above(String process, String controller, Path proc, Path cgroups) {
        try {
            return Files.readAllLines(proc.resolve(process, "cgroup")).stream()
                    .flatMap(line -> groups(line, controller, cgroups));
        } catch (IOException e) {
            return Stream.empty();
        }
    }

    /** The folders that {@code hierarchy:controllers:path} stands for, the process's own first. */
    private static Stream<Path> groups(String line, String controller, Path cgroups) {
        String[] fields = line.split(":", 3);
        if (fields.length < 3) {
            return Stream.empty();
        }
        Path root;
        if (List.of(fields[1].split(",")).contains(controller)) {
            root = cgroups.resolve(controller);
        } else if (fields[1].isEmpty()) {
            root = Files.isDirectory(cgroups.resolve("unified")) ? cgroups.resolve("unified") : cgroups;
        } else {
            return Stream.empty();
        }
        // Inside a container the path may be the host's and name no folder of the container. The root is the
        // container's own group.
        Path own = root.resolve(fields[2].substring(1)).normalize();
        return Stream.iterate(own, group -> group != null && group.startsWith(root), Path::getParent);
    }
}
