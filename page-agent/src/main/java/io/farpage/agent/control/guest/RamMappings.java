package io.farpage.agent.control.guest;

import io.farpage.agent.data.pager.page.GuestRegion;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The kernel's report on the mappings that contain a VMM's memory (proc_pid_smaps(5)). */
final class RamMappings {
    private static final String FLAGS = "VmFlags:";
    /** Registered with {@code UFFDIO_REGISTER_MODE_MINOR}. */
    private static final String MINOR = " ui ";

    private RamMappings() {}

    /**
     * Whether a VMM has registered some of its memory for minor faults, so that it may fill pages through another
     * mapping. Also true if the mappings cannot be read: then pages that the VMM filled cannot be distinguished from
     * others.
     */
    static boolean areFilledByVmm(int vmm, List<Slice> slices) {
        try (BufferedReader smaps = open(vmm)) {
            return areFilledByVmm(smaps, regions(slices));
        } catch (IOException e) {
            return true;
        }
    }

    /** As {@link #areFilledByVmm(int, List)}, by the mappings of a VMM. */
    static boolean areFilledByVmm(BufferedReader smaps, List<GuestRegion> regions) throws IOException {
        return flags(smaps, regions).stream().anyMatch(flags -> flags.contains(MINOR));
    }

    static List<GuestRegion> regions(List<Slice> slices) {
        return slices.stream().flatMap(slice -> slice.regions().stream()).toList();
    }

    /** Walks the page tables of a process as it is read: not for often. */
    static BufferedReader open(int pid) throws IOException {
        return Files.newBufferedReader(Path.of("/proc", Integer.toString(pid), "smaps"), StandardCharsets.ISO_8859_1);
    }

    /** The flags of each mapping that has a part of a region in it, with a space before and behind each. */
    static List<String> flags(BufferedReader smaps, List<GuestRegion> regions) throws IOException {
        List<String> all = new ArrayList<>();
        boolean within = false;
        for (String line = smaps.readLine(); line != null; line = smaps.readLine()) {
            if (line.startsWith(FLAGS)) {
                if (within) {
                    all.add(line + " ");
                }
                within = false;
            } else {
                within |= isIn(line, regions);
            }
        }
        return all;
    }

    /** Whether a line is the first one of a mapping that has a part of a region in it. */
    private static boolean isIn(String line, List<GuestRegion> regions) {
        int dash = line.indexOf('-');
        int space = line.indexOf(' ');
        int colon = line.indexOf(':');
        if (dash <= 0 || dash > space || (colon >= 0 && colon < space)) {
            return false;
        }
        long start = Long.parseUnsignedLong(line, 0, dash, 16);
        long end = Long.parseUnsignedLong(line, dash + 1, space, 16);
        return regions.stream().anyMatch(region -> region.hostAddress() < end && start < region.hostEnd());
    }
}
