package io.farpage.cli.local;

import io.farpage.agent.rest.SocketDirectory;
import io.farpage.cli.local.HostFacts.Obstacle;
import io.farpage.rest.Json;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import tools.jackson.core.JacksonException;

/** The files of a local cluster: store, sockets, logs, and what was reserved for it. */
final class StateFolder {

    private static final String RECORD = "cluster.json";
    private static final String FRESH_RECORD = RECORD + ".tmp";
    private static final Path BOOT = Path.of("/proc/sys/kernel/random/boot_id");

    /** The address of a Unix socket has room for 107 bytes, and the longest name in the folder is local-16.sock. */
    private static final int LONGEST_PATH = 107 - "/local-16.sock".length();

    private final Path path;

    /**
     * What has to be undone beside ending processes.
     *
     * @param boot of the kernel that the hugepages were reserved at; after another one they are gone
     * @param hugepages of 2 MiB by which the kernel's pool was raised
     * @param agents that the cluster has
     * @param url of the coordinator; empty until it listens
     */
    record Kept(String boot, long hugepages, int agents, Optional<String> url) {
        Kept withUrl(String known) {
            return new Kept(boot, hugepages, agents, Optional.of(known));
        }
    }

    StateFolder(Path path) {
        if (path.toString().getBytes(StandardCharsets.UTF_8).length > LONGEST_PATH) {
            throw new LocalClusterException(
                    "--state %s: is longer than %d bytes, so that no socket fits below it; give a shorter one"
                            .formatted(path, LONGEST_PATH));
        }
        this.path = path;
    }

    Path path() {
        return path;
    }

    Path file(String name) {
        return path.resolve(name);
    }

    /**
     * Takes the folder for this process alone, and makes it if it does not exist; closing the channel gives it back.
     * The lock file is beside the folder and stays when the folder is deleted: of two processes that lock a file of one
     * name, one may hold a lock on a file that was unlinked.
     */
    FileChannel lock() throws IOException {
        require(unwritable());
        Path beside = lockFile();
        if (SocketDirectory.own().equals(beside.getParent())) {
            SocketDirectory.makeOwn();
        }
        Files.createDirectories(beside.getParent());
        FileChannel channel = FileChannel.open(beside, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        try {
            if (!isTaken(channel)) {
                throw new LocalClusterException(
                        "another 'farpage up' or 'farpage down' is at work in %s; wait for its end".formatted(path));
            }
            require(foreign());
            make();
            return channel;
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    private static void require(Optional<Obstacle> none) {
        none.ifPresent(obstacle -> {
            throw new LocalClusterException(obstacle.toString());
        });
    }

    private static boolean isTaken(FileChannel channel) throws IOException {
        try {
            return channel.tryLock() != null;
        } catch (OverlappingFileLockException e) {
            return false; // this process has it already
        }
    }

    void make() throws IOException {
        Files.createDirectories(path);
    }

    private Path lockFile() {
        return path.resolveSibling(".%s.lock".formatted(path.getFileName()));
    }

    /** Why the folder cannot have the files of a cluster; empty if it can. Makes nothing. */
    Optional<Obstacle> obstacle() {
        return unwritable().or(this::foreign);
    }

    private Optional<Obstacle> unwritable() {
        return Stream.of(lockFile(), file(RECORD))
                .filter(file -> !isWritable(file))
                .findFirst()
                .map(file -> new Obstacle(
                        "--state %s: user %s cannot write to %s"
                                .formatted(path, System.getProperty("user.name"), nearest(file)),
                        "give a folder that this user can write to"));
    }

    private static boolean isWritable(Path file) {
        Path there = nearest(file);
        boolean isPlace = there.equals(file) || (Files.isDirectory(there) && Files.isExecutable(there));
        return isPlace && Files.isWritable(there);
    }

    /** The file or the nearest directory above it that exists. */
    private static Path nearest(Path file) {
        Path there = file;
        while (!Files.exists(there)) {
            there = Optional.ofNullable(there.getParent()).orElseThrow();
        }
        return there;
    }

    /** Bytes that are free where the folder is, or will be. */
    long freeBytes() throws IOException {
        return Files.getFileStore(nearest(path)).getUsableSpace();
    }

    private Optional<Obstacle> foreign() {
        if (!Files.isDirectory(path) || Files.exists(file(RECORD))) {
            return Optional.empty();
        }
        try (Stream<Path> found = Files.list(path)) {
            // An earlier version had its lock file in the folder; an 'up' that has just begun has the record under its
            // first name.
            return found.filter(file -> !file.endsWith("lock") && !file.endsWith(FRESH_RECORD))
                    .findFirst()
                    .map(other -> new Obstacle(
                            "--state %s: has %s, which is not of a local cluster".formatted(path, other.getFileName()),
                            "give an empty or a new folder"));
        } catch (IOException e) {
            return Optional.of(
                    new Obstacle("--state %s: cannot be read: %s".formatted(path, e), "give an empty or a new folder"));
        }
    }

    Optional<Kept> read() throws IOException {
        Path record = file(RECORD);
        if (!Files.exists(record)) {
            return Optional.empty();
        }
        try {
            return Optional.of(Json.LENIENT.readValue(Files.readString(record), Kept.class));
        } catch (JacksonException e) {
            throw new LocalClusterException(
                    ("%s cannot be read: %s; end the cluster's processes, lower nr_hugepages and delete the folder by"
                                    + " hand")
                            .formatted(record, e.getOriginalMessage()),
                    e);
        }
    }

    void write(Kept kept) throws IOException {
        Path fresh = file(FRESH_RECORD);
        Files.writeString(fresh, Json.STRICT.writeValueAsString(kept));
        Files.move(fresh, file(RECORD), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    static String boot() throws IOException {
        return Files.readString(BOOT).strip();
    }

    /** Deletes the folder with all that is in it. */
    void delete() throws IOException {
        if (!Files.exists(path)) {
            return;
        }
        try (Stream<Path> all = Files.walk(path)) {
            for (Path file : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        }
    }

    /** Deletes all but the logs, so that they tell why a start failed. */
    void deleteButLogs() throws IOException {
        try (Stream<Path> all = Files.walk(path)) {
            List<Path> files = all.filter(file ->
                            !file.equals(path) && !file.toString().endsWith(".log") && !file.equals(file(RECORD)))
                    .sorted(Comparator.reverseOrder())
                    .toList();
            for (Path file : files) {
                Files.deleteIfExists(file);
            }
        }
    }
}
