package io.farpage.agent.control.pins;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/** Devices whose drivers pin the memory of the process that uses them, by the names that they have under /dev. */
final class Devices {
    private static final String PASSED_THROUGH = "SCSI commands that are passed through (SG_IO) move data directly";
    private static final byte[] DEV = "/dev/".getBytes(StandardCharsets.US_ASCII);
    private static final Pattern MAPPER = Pattern.compile("dm-\\d+");

    private record Family(Pattern name, String why) {}

    private static final List<Family> FAMILIES = List.of(
            family("vfio/.*|iommu", "VFIO pins memory"),
            family("infiniband/uverbs.*", "RDMA pins registered memory"),
            family("vhost-vdpa.*|vhost-scsi", "vhost pins memory"),
            family("udmabuf", "udmabuf pins memory"),
            family("sev|tdx_guest", "encrypted guests have their memory pinned"),
            family("nvidia.*", "the driver may pin memory"),
            family("sg\\d+|bsg/.*|ng\\d+n\\d+|nvme\\d+", "commands that are passed through move data directly"),
            family("sd[a-z]+\\d*|sr\\d+", PASSED_THROUGH));

    private Devices() {}

    private static Family family(String names, String why) {
        return new Family(Pattern.compile(names), why);
    }

    /** Why a device may pin memory; empty if it does not, or if the path is that of no device. */
    static String pinning(MemorySegment path, int length) {
        int name = name(path, length);
        return name < 0
                ? ""
                : pinning(new String(path.asSlice(name, length - name).toArray(JAVA_BYTE), StandardCharsets.UTF_8));
    }

    /** As above, by the name under /dev. */
    static String pinning(String name) {
        for (Family family : FAMILIES) {
            if (family.name().matcher(name).matches()) {
                return family.why();
            }
        }
        return MAPPER.matcher(name).matches() && isMultipath(name) ? PASSED_THROUGH : "";
    }

    private static boolean isMultipath(String name) {
        try {
            return Files.readString(Path.of("/sys/block", name, "dm/uuid")).startsWith("mpath-");
        } catch (IOException e) {
            return false; // the device is gone
        }
    }

    /** Where the name under /dev starts, wherever that is mounted for the VMM; -1 if the path is not under one. */
    private static int name(MemorySegment path, int length) {
        for (int at = 0; at + DEV.length < length; at++) {
            int i = 0;
            while (i < DEV.length && path.get(JAVA_BYTE, at + i) == DEV[i]) {
                i++;
            }
            if (i == DEV.length) {
                return at + i;
            }
        }
        return -1;
    }
}
