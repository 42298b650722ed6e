package io.farpage.cli.local;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A process of a local cluster. Its environment says so, which it has from its start to its end, so that the processes
 * of a start that was killed are found as well.
 *
 * @param name such as local-1
 * @param process which
 */
record Member(String name, ProcessHandle process) {

    /** The variable with the path of the cluster's folder. Not with FARPAGE_, since all of those are configuration. */
    static final String FOLDER = "LOCAL_FARPAGE";

    /** The variable with the name. */
    static final String NAME = "LOCAL_FARPAGE_NAME";

    private static final Path PROC = Path.of("/proc");

    /** The variables that make a process a member. */
    static Map<String, String> environment(Path folder, String name) {
        return Map.of(FOLDER, folder.toString(), NAME, name);
    }

    /**
     * The running members of the cluster, sorted by name. Without root, processes of other users are left out: their
     * environment cannot be read.
     */
    static List<Member> of(Path folder) throws IOException {
        List<Member> members = new ArrayList<>();
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(PROC, "[0-9]*")) {
            for (Path process : processes) {
                Map<String, String> environment = environment(process);
                if (folder.toString().equals(environment.get(FOLDER))) {
                    ProcessHandle.of(Long.parseLong(process.getFileName().toString()))
                            .map(handle -> new Member(environment.getOrDefault(NAME, "unnamed"), handle))
                            .ifPresent(members::add);
                }
            }
        }
        members.sort(Comparator.comparing(Member::name));
        return members;
    }

    private static Map<String, String> environment(Path process) {
        Map<String, String> found = new HashMap<>();
        try {
            String all = new String(Files.readAllBytes(process.resolve("environ")), StandardCharsets.UTF_8);
            for (String each : all.split("\0")) {
                Optional.of(each.indexOf('='))
                        .filter(at -> at > 0 && each.startsWith(FOLDER))
                        .ifPresent(at -> found.put(each.substring(0, at), each.substring(at + 1)));
            }
        } catch (IOException e) {
            return Map.of(); // ended meanwhile, or another user's
        }
        return found;
    }
}
