package io.farpage.agent.control.seal;

import io.farpage.agent.control.ControlThread;
import io.farpage.certs.PrivateFiles;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.tls.TlsException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes the files with tags of spaces that were deleted: when the agent starts, when a space is deleted, and now and
 * then. Without its file an encrypted space is lost, so a file goes only on the word of a coordinator that this agent
 * obeys, of the cluster that the directory belongs to, and that has given the space's id away and no longer has the
 * space. A coordinator on an empty store, or on a copy from before the space was created, has not given the id away.
 */
public final class SealSweep implements AutoCloseable {
    /** The file that names the cluster to which the others belong. */
    static final String CLUSTER = "cluster";

    private static final Logger log = LoggerFactory.getLogger(SealSweep.class);
    private static final Pattern FILE = Pattern.compile("space-(\\d{1,18})\\.seal(\\.attached)?");
    private static final Duration REPEAT = Duration.ofMinutes(10);
    private static final Duration RETRY = Duration.ofMillis(500);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private final Path directory;
    private final CoordinatorClient coordinator;
    private final ControlThread thread =
            new ControlThread("seals", new ControlThread.Pauses(Duration.ZERO, RETRY, CLOSE_TIMEOUT), this::sweep);
    private boolean warned;

    /** @param directory with the files; made if need be */
    public SealSweep(Path directory, CoordinatorClient coordinator) {
        this.directory = directory;
        this.coordinator = coordinator;
    }

    public void start() {
        thread.start();
    }

    /** A space was deleted, or may have been. Any thread. */
    public void refresh() {
        thread.wake();
    }

    /** Looks at all files once, and gives the pause until they are looked at again. */
    Duration sweep() throws CoordinatorException {
        if (!coordinator.allegiance().status().joined()) {
            return RETRY;
        }
        try {
            List<Path> files = files();
            if (isOfThisCluster(files)) {
                for (Path file : files) {
                    sweep(file);
                }
            }
        } catch (IOException | TlsException e) {
            warn("files of deleted spaces in %s (seal.directory) are not removed: %s".formatted(directory, e));
        }
        return REPEAT;
    }

    private List<Path> files() throws IOException {
        PrivateFiles.makeDirectory(directory);
        try (Stream<Path> all = Files.list(directory)) {
            return all.filter(file -> spaceOf(file).isPresent()).toList();
        }
    }

    private static OptionalLong spaceOf(Path file) {
        Matcher name = FILE.matcher(file.getFileName().toString());
        return name.matches() ? OptionalLong.of(Long.parseLong(name.group(1))) : OptionalLong.empty();
    }

    /** A directory without files becomes that of this cluster. */
    private boolean isOfThisCluster(List<Path> files) throws IOException {
        Optional<String> joined = coordinator.allegiance().cluster().map(cluster -> cluster.text());
        Path named = directory.resolve(CLUSTER);
        if (joined.isEmpty()) {
            return false;
        }
        if (!Files.exists(named)) {
            if (!files.isEmpty()) {
                warn(("%s does not say to which cluster the tags beside it belong: tags of deleted spaces stay;"
                                + " write %s into it if they are of this one")
                        .formatted(named, joined.get()));
                return false;
            }
            PrivateFiles.create(named, joined.get() + "\n");
            return true;
        }
        String owner = Files.readString(named).strip();
        if (!owner.equals(joined.get())) {
            warn(("%s says that the tags beside it are of cluster %s, and this node has joined cluster %s: tags of"
                            + " deleted spaces stay")
                    .formatted(named, owner, joined.get()));
            return false;
        }
        return true;
    }

    private void sweep(Path file) throws CoordinatorException, IOException {
        long space = spaceOf(file).orElseThrow();
        if (coordinator.isDeleted(space) && Files.deleteIfExists(file)) {
            log.info("removed {}: space {} was deleted", file, space);
        }
    }

    private void warn(String message) {
        if (!warned) {
            warned = true;
            log.warn("{}", message);
        }
    }

    @Override
    public void close() {
        thread.close();
    }
}
