package io.farpage.verbs.ibverbs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What sysfs, devfs and procfs contain about RDMA, without the library.
 *
 * @param sys {@code /sys}
 * @param dev {@code /dev}
 * @param proc {@code /proc}
 */
record Host(Path sys, Path dev, Path proc) {
    static final Host REAL = new Host(Path.of("/sys"), Path.of("/dev"), Path.of("/proc"));

    /** Names of the RDMA devices that the kernel has. */
    List<String> devices() {
        try (Stream<Path> entries = Files.list(sys.resolve("class/infiniband"))) {
            return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
        } catch (IOException e) {
            // The directory comes with the first RDMA module.
            return List.of();
        }
    }

    /** The character device that user programs reach {@code device} by. */
    Optional<Path> deviceNode(String device) {
        try (Stream<Path> entries = Files.list(sys.resolve("class/infiniband_verbs"))) {
            return entries.filter(
                            entry -> read(entry.resolve("ibdev")).orElse("").equals(device))
                    .map(entry -> dev.resolve("infiniband").resolve(entry.getFileName()))
                    .findFirst();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** NUMA node of {@code device}, or -1 if it is attached to none. */
    int numaNode(String device) {
        return read(sys.resolve("class/infiniband/" + device + "/device/numa_node"))
                .map(Integer::parseInt)
                .orElse(-1);
    }

    /** Signalling rate of a port in Gbit/s, 0 if the driver does not report it. */
    double rate(String device, int port) {
        // "100 Gb/sec (4X EDR)"
        return read(sys.resolve("class/infiniband/" + device + "/ports/" + port + "/rate"))
                .map(text -> Double.parseDouble(text.split(" ", 2)[0]))
                .orElse(0.0);
    }

    /** The limit on memory that this process may pin. */
    Memlock memlock() {
        return Memlock.of(proc);
    }

    /** The text of a small file without the line's end; empty if it is missing or not readable. */
    static Optional<String> read(Path file) {
        try {
            return Optional.of(Files.readString(file).strip());
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            // sysfs answers EINVAL and the like for what a driver does not have.
            return Optional.empty();
        }
    }
}
