package io.farpage.agent.rehearsal;

import io.farpage.agent.node.PageAgent;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.rest.Json;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Loads and initializes the classes of an agent that a rehearsal without guests and peers does not reach. */
final class Preload {
    private static final Logger log = LoggerFactory.getLogger(Preload.class);
    private static final String SUFFIX = ".class";

    /** One class of each jar, and the package of it whose classes are loaded. */
    private static final List<Class<?>> SOURCES = List.of(
            PageAgent.class,
            Node.class,
            io.farpage.linux.ProcessFd.class,
            io.farpage.pool.PagePool.class,
            io.farpage.verbs.VerbsProvider.class);

    /**
     * What a takeover reads and a rehearsal does not: Jackson makes the parser of a record when a reader for it is
     * asked for.
     */
    private static final List<Class<?>> READ =
            List.of(SpaceExtents.class, Attachment.class, Endpoint.class, Grant.class, Node[].class, Event[].class);

    /** What a takeover writes and a rehearsal does not. */
    private static final List<Class<?>> WRITTEN =
            List.of(AttachRequest.class, EndpointRequest.class, HostedAck.class, GrantRequest.class);

    private Preload() {}

    static void run() throws IOException {
        int loaded = 0;
        for (Class<?> source : SOURCES) {
            loaded += load(source);
        }
        READ.forEach(Json.LENIENT::readerFor);
        WRITTEN.forEach(Json.LENIENT::writerFor);
        log.debug("loaded {} classes", loaded);
    }

    private static int load(Class<?> source) throws IOException {
        try {
            URI location =
                    source.getProtectionDomain().getCodeSource().getLocation().toURI();
            Path path = Path.of(location);
            if (Files.isDirectory(path)) {
                return load(source, path);
            }
            try (FileSystem jar = FileSystems.newFileSystem(path)) {
                return load(source, jar.getPath("/"));
            }
        } catch (URISyntaxException e) {
            throw new IOException(e);
        }
    }

    private static int load(Class<?> source, Path root) throws IOException {
        Path start = root.resolve(source.getPackageName().replace('.', '/'));
        List<Path> files;
        try (Stream<Path> all = Files.walk(start)) {
            files = all.filter(file -> file.toString().endsWith(SUFFIX)).toList();
        }
        int loaded = 0;
        for (Path file : files) {
            String name = root.relativize(file).toString().replace('/', '.');
            try {
                Class.forName(name.substring(0, name.length() - SUFFIX.length()), true, source.getClassLoader());
                loaded++;
            } catch (ClassNotFoundException | LinkageError e) {
                log.debug("{} is not loaded: {}", name, e.toString());
            }
        }
        return loaded;
    }
}
