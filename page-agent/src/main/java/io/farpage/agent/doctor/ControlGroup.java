package io.farpage.agent.doctor;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The control groups that this process is in, of both versions (cgroups(7)): its own and all above, as each of them
 * limits.
 */
final class ControlGroup {
    private static final String ROOT = "/sys/fs/cgroup";

    private final Tree tree;

    ControlGroup(Tree tree) {
        this.tree = tree;
    }

    /**
     * A limit and where it is set.
     *
     * @param value bytes
     */
    record Limit(long value, String file) {
        /** The limit beside what the pool needs. */
        String against(long needed) {
            return "limit %s (%s), the pool needs %s".formatted(size(value), file, size(needed));
        }

        String raiseTo(long bytes) {
            return "echo %d > %s".formatted(bytes, file);
        }

        private static String size(long bytes) {
            return bytes < 1 << 20 ? (bytes >> 10) + " KiB" : (bytes >> 20) + " MiB";
        }
    }

    /** The least number that a file of this name holds in any group; absent if none limits. */
    Optional<Limit> least(String controller, String v2Name, String v1Name) {
        List<Limit> limits = new ArrayList<>();
        for (String folder : folders(controller)) {
            for (String name : List.of(v2Name, v1Name)) {
                String file = folder + "/" + name;
                // The v1 way to say "none" is the largest number that is a multiple of a page.
                tree.number(file)
                        .filter(value -> value < Long.MAX_VALUE - (1L << 21))
                        .ifPresent(value -> limits.add(new Limit(value, file)));
            }
        }
        return limits.stream().min((a, b) -> Long.compare(a.value, b.value));
    }

    /** The folders of the groups with this controller, the own one first. */
    List<String> folders(String controller) {
        List<String> folders = new ArrayList<>();
        for (String line : tree.lines("/proc/self/cgroup")) {
            String[] fields = line.split(":", 3);
            if (fields.length == 3 && fields[1].isEmpty()) {
                addUpwards(folders, tree.exists(ROOT + "/unified") ? ROOT + "/unified" : ROOT, fields[2]);
            } else if (fields.length == 3 && List.of(fields[1].split(",")).contains(controller)) {
                addUpwards(folders, ROOT + "/" + fields[1], fields[2]);
                addUpwards(folders, ROOT + "/" + controller, fields[2]);
            }
        }
        return folders.stream().distinct().toList();
    }

    private static void addUpwards(List<String> folders, String root, String group) {
        // Inside a container the group may be the host's and lead nowhere here; the root is then the container's own.
        String path = group.equals("/") ? "" : group;
        while (!path.isEmpty()) {
            folders.add(root + path);
            path = path.substring(0, Math.max(0, path.lastIndexOf('/')));
        }
        folders.add(root);
    }
}
