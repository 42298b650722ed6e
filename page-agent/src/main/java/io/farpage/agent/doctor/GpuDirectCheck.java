package io.farpage.agent.doctor;

import java.util.List;

/** Whether a GPU's memory could be registered with an RDMA device: by nvidia-peermem, or by dma-buf with the open driver. */
final class GpuDirectCheck implements Check {
    private static final String ID = "gpu.direct";
    private static final String SUBJECT = "gpudirect";
    private static final String NVIDIA = "0x10de";

    private final Tree tree;

    GpuDirectCheck(Tree tree) {
        this.tree = tree;
    }

    @Override
    public List<Line> run() {
        if (!hasGpu()) {
            return List.of(Line.ok(ID, SUBJECT, "not needed: no NVIDIA GPU"));
        }
        if (tree.hasModule("nvidia_peermem") || tree.hasModule("nv_peer_mem")) {
            return List.of(Line.ok(ID, SUBJECT, "nvidia-peermem is loaded"));
        }
        String driver = tree.text("/proc/driver/nvidia/version").orElse("");
        if (driver.contains("Open Kernel Module") && hasDmaBufRegistration()) {
            return List.of(
                    Line.ok(ID, SUBJECT, "dma-buf: the open NVIDIA driver exports it and this kernel registers it"));
        }
        return List.of(Line.warn(
                ID,
                SUBJECT,
                driver.isEmpty()
                        ? "an NVIDIA GPU without its driver; install MLNX_OFED or DOCA before that"
                        : "neither nvidia-peermem nor dma-buf: GPU memory goes through host memory",
                "modprobe nvidia-peermem"));
    }

    /** Display (0x03) and 3D controllers; the GPU's audio function has another class. */
    private boolean hasGpu() {
        String devices = "/sys/bus/pci/devices/";
        return tree.names(devices).stream()
                .anyMatch(name -> tree.text(devices + name + "/vendor")
                                .orElse("")
                                .equals(NVIDIA)
                        && tree.text(devices + name + "/class").orElse("").startsWith("0x03"));
    }

    /** {@code ib_umem_dmabuf} came with Linux 5.12. */
    private boolean hasDmaBufRegistration() {
        String[] release = tree.text("/proc/sys/kernel/osrelease").orElse("0.0").split("[.-]", 3);
        int major = number(release[0]);
        return major > 5 || (major == 5 && release.length > 1 && number(release[1]) >= 12);
    }

    private static int number(String text) {
        return text.matches("\\d{1,6}") ? Integer.parseInt(text) : 0;
    }
}
