package io.farpage.agent.control.guest;

import io.farpage.agent.data.pager.page.GuestRegion;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Whether the kernel may make transparent huge pages of a guest's shared memory. Eviction punches holes of 4 KiB. If
 * the kernel cannot split a huge page, because a page of it is in use, the hole stays in the file as zeros: the guest
 * finds them without a fault.
 */
final class HugePages {
    private static final Path SETTINGS = Path.of("/sys/kernel/mm/transparent_hugepage");

    private HugePages() {}

    /**
     * Why holes in the memory of a VMM, of pages of 4 KiB, may stay as zeros; empty if they do not, or if the VMM
     * cannot be asked.
     */
    static Optional<String> obstacle(int vmm, List<Slice> slices) {
        String setting = setting();
        if (setting.equals("never") || setting.equals("deny")) {
            return Optional.empty();
        }
        try (BufferedReader smaps = RamMappings.open(vmm)) {
            return obstacle(setting, smaps, RamMappings.regions(slices));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /**
     * As {@link #obstacle(int, List)}.
     *
     * @param setting of shared memory, such as {@code advise}
     * @param smaps the mappings of the VMM (proc_pid_smaps(5))
     */
    static Optional<String> obstacle(String setting, BufferedReader smaps, List<GuestRegion> regions)
            throws IOException {
        return RamMappings.flags(smaps, regions).stream()
                .filter(flags -> isAllowed(setting, flags))
                .findFirst()
                .map(flags -> ("the kernel may make transparent huge pages of the memory (shmem_enabled is %s), which"
                                + " cannot be evicted by pages of 4 KiB; call madvise(MADV_NOHUGEPAGE) for it before"
                                + " the handoff, or set /sys/kernel/mm/transparent_hugepage/shmem_enabled to never")
                        .formatted(setting));
    }

    private static boolean isAllowed(String setting, String flags) {
        return setting.equals("advise") ? flags.contains(" hg ") : !flags.contains(" nh ");
    }

    /** What holds for huge pages of 2 MiB in shared memory; {@code never} if the kernel has no such setting. */
    private static String setting() {
        return chosen("hugepages-2048kB/shmem_enabled")
                .filter(own -> !own.equals("inherit"))
                .or(() -> chosen("shmem_enabled"))
                .orElse("never");
    }

    /** The value in brackets. */
    private static Optional<String> chosen(String setting) {
        try {
            String all = Files.readString(SETTINGS.resolve(setting));
            return Optional.of(all.substring(all.indexOf('[') + 1, all.indexOf(']')));
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
