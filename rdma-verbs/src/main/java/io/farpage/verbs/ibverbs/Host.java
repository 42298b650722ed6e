package io.farpage.verbs.ibverbs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
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

    /**
     * What user programs reach a device by. A device that is renamed keeps it; one that comes in its place has another.
     *
     * @param name of its files in sysfs and devfs, such as {@code uverbs0}
     * @param key of its directory in sysfs, which tells it from a later node of the same name
     */
    record Node(String name, Object key) {}

    /** The node of a device; empty if it has none. */
    Optional<Node> node(String device) {
        try (Stream<Path> entries = Files.list(nodes())) {
            return entries.map(entry -> entry.getFileName().toString())
                    .filter(name -> device(name).filter(device::equals).isPresent())
                    .findFirst()
                    .flatMap(name -> key(name).map(key -> new Node(name, key)));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** The name that the device of a node has now; empty if it was removed. */
    Optional<String> device(Node node) {
        return key(node.name()).filter(node.key()::equals).flatMap(_ -> device(node.name()));
    }

    private Optional<String> device(String node) {
        return read(nodes().resolve(node).resolve("ibdev"));
    }

    private Optional<Object> key(String node) {
        try {
            return Optional.ofNullable(Files.readAttributes(nodes().resolve(node), BasicFileAttributes.class)
                    .fileKey());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private Path nodes() {
        return sys.resolve("class/infiniband_verbs");
    }

    /** The character device that user programs reach {@code device} by. */
    Optional<Path> deviceNode(String device) {
        return node(device).map(node -> dev.resolve("infiniband").resolve(node.name()));
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
