package io.farpage.agent.control.pins;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;

/** Finds the processes that have a file mapped (proc_pid_maps(5)). One thread. */
final class MemoryOwners {
    private static final String SMAPS_FLAGS = "VmFlags:";

    private final int agent;
    private final String mark;
    /** Each process besides the VMM that maps the file → whether its mappings are served. */
    private final Map<Integer, Boolean> judged = new HashMap<>();

    /** @param descriptor of the file, in this process */
    MemoryOwners(int descriptor) throws IOException {
        this(descriptor, Math.toIntExact(ProcessHandle.current().pid()));
    }

    /** @param agent process id of the agent, whose own mappings do not count */
    MemoryOwners(int descriptor, int agent) throws IOException {
        this.agent = agent;
        Path file = Path.of("/proc/self/fd", Integer.toString(descriptor));
        long device = (long) Files.getAttribute(file, "unix:dev");
        long inode = (long) Files.getAttribute(file, "unix:ino");
        // Split as in makedev(3).
        long major = (device >>> 8 & 0xfff) | (device >>> 32 & ~0xfffL);
        long minor = (device & 0xff) | (device >>> 12 & ~0xffL & 0xffffffffL);
        mark = " %02x:%02x %d ".formatted(major, minor, inode);
    }

    /** Process ids, without processes that this user may not inspect. */
    Set<Integer> find() {
        Set<Integer> owners = new TreeSet<>();
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (Path process : processes) {
                if (maps(process)) {
                    owners.add(Integer.parseInt(process.getFileName().toString()));
                }
            }
        } catch (IOException e) {
            return owners; // what was found so far; the process of the handoff is inspected in any case
        }
        return owners;
    }

    /**
     * A process besides the VMM that maps the file without a userfaultfd, such as a vhost-user back end. Pages that are
     * not resident are zeros for such a process, and its first access puts these zeros into the file. A child that the
     * agent serves inherits the registration.
     *
     * @param owners what {@link #find} has found
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
            return isServed(lines, mark);
        } catch (IOException e) {
            return true; // the process has ended
        }
    }

    /**
     * Whether a userfaultfd is registered for a mapping of a file (proc_pid_smaps(5)), or no mapping of the file has
     * access rights. A child that is served may have inherited another mapping beside.
     *
     * @param mark what the lines of these mappings contain
     */
    static boolean isServed(BufferedReader smaps, String mark) throws IOException {
        boolean within = false;
        boolean isUsed = false;
        for (String line = smaps.readLine(); line != null; line = smaps.readLine()) {
            if (line.startsWith(SMAPS_FLAGS)) {
                if (within && (line + " ").contains(" um ")) {
                    return true;
                }
                within = false;
            } else if (line.contains(mark)) {
                within = true;
                isUsed |= !line.contains(" ---");
            }
        }
        return !isUsed;
    }

    /** In one string, since a handoff waits for this, and most processes have hundreds of lines without the mark. */
    private boolean maps(Path process) {
        try {
            return Files.readString(process.resolve("maps"), StandardCharsets.ISO_8859_1)
                    .contains(mark);
        } catch (IOException e) {
            return false; // the process has ended, or this user may not inspect it
        }
    }
}
