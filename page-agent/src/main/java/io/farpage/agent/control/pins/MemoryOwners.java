package io.farpage.agent.control.pins;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;

/** The processes that have the memory file of a guest mapped, and whether they are served. One thread. */
final class MemoryOwners implements AutoCloseable {
    private static final String SMAPS_FLAGS = "VmFlags:";

    private final int agent;
    private final MappingSearch.Watched file;
    /** Each process besides the VMM that maps the file → whether its mappings are served. */
    private final Map<Integer, Boolean> judged = new HashMap<>();

    /** @param descriptor of the file, in this process */
    MemoryOwners(int descriptor, MappingSearch search) throws IOException {
        this(descriptor, search, Math.toIntExact(ProcessHandle.current().pid()));
    }

    /** @param agent process id of the agent, whose own mappings do not count */
    MemoryOwners(int descriptor, MappingSearch search, int agent) throws IOException {
        this.agent = agent;
        file = search.watch(MappedFile.of(descriptor));
    }

    /** As {@link MappingSearch.Watched#now}. */
    Set<Integer> now() {
        return file.now();
    }

    /** As {@link MappingSearch.Watched#lately}. */
    Set<Integer> lately() {
        return file.lately();
    }

    /**
     * A process besides the VMM that maps the file without a userfaultfd, such as a vhost-user back end. Pages that are
     * not resident are zeros for such a process, and its first access puts these zeros into the file. A child that the
     * agent serves inherits the registration.
     *
     * @param owners those that map the file
     */
    OptionalInt unserved(Set<Integer> owners, int vmm) {
        Set<Integer> others = new TreeSet<>(owners);
        others.remove(vmm);
        others.remove(agent);
        judged.keySet().retainAll(others);
        for (int pid : others) {
            if (!judged.computeIfAbsent(pid, this::isServed)) {
                return OptionalInt.of(pid);
            }
        }
        return OptionalInt.empty();
    }

    /** To ask walks the page tables of the process. */
    private boolean isServed(int pid) {
        try (BufferedReader lines = Files.newBufferedReader(
                Path.of("/proc", Integer.toString(pid), "smaps"), StandardCharsets.ISO_8859_1)) {
            return isServed(lines, file.file());
        } catch (IOException e) {
            return true; // the process has ended
        }
    }

    /**
     * Whether a userfaultfd is registered for a mapping of a file (proc_pid_smaps(5)), or no mapping of the file has
     * access rights. A child that is served may have inherited another mapping beside.
     *
     */
    static boolean isServed(BufferedReader smaps, MappedFile file) throws IOException {
        boolean within = false;
        boolean isUsed = false;
        for (String line = smaps.readLine(); line != null; line = smaps.readLine()) {
            if (line.startsWith(SMAPS_FLAGS)) {
                if (within && (line + " ").contains(" um ")) {
                    return true;
                }
                within = false;
            } else if (file.isIn(line)) {
                within = true;
                isUsed |= !line.contains(" ---");
            }
        }
        return !isUsed;
    }

    @Override
    public void close() {
        file.close();
    }
}
