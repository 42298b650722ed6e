package io.farpage.image;

import com.google.cloud.tools.jib.api.Containerizer;
import com.google.cloud.tools.jib.api.Jib;
import com.google.cloud.tools.jib.api.JibContainerBuilder;
import com.google.cloud.tools.jib.api.TarImage;
import com.google.cloud.tools.jib.api.buildplan.AbsoluteUnixPath;
import com.google.cloud.tools.jib.api.buildplan.FileEntriesLayer;
import com.google.cloud.tools.jib.api.buildplan.FilePermissions;
import com.google.cloud.tools.jib.api.buildplan.ImageFormat;
import com.google.cloud.tools.jib.api.buildplan.Platform;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Turns folders, one for each layer, into an image in the OCI layout. Owners and times are the same for the same
 * folders, so the bytes are.
 */
final class Main {

    /** The user that programs run as, as passwd in the first layer has it. */
    private static final String USER = "65532:65532";

    /** What that user writes to. */
    private static final List<String> WRITABLE = List.of("/var/lib/farpage", "/run/farpage", "/tmp");

    private static final String ROOT = "0:0";

    private Main() {}

    /**
     * Writes the image.
     *
     * @param args folder with the layers in the order of their names; file to write; name of the image with its tag;
     *     version; commit; seconds since 1970 of the commit; architecture as Debian names it
     */
    public static void main(String[] args) throws Exception {
        if (args.length != 7) {
            System.err.println("usage: LAYERS FILE NAME VERSION COMMIT SECONDS ARCHITECTURE");
            System.exit(2);
        }
        Path layers = Path.of(args[0]);
        Path file = Path.of(args[1]);
        JibContainerBuilder image = Jib.fromScratch()
                .setFormat(ImageFormat.OCI)
                .setPlatforms(Set.of(new Platform(args[6], "linux")))
                .setCreationTime(Instant.ofEpochSecond(Long.parseLong(args[5])))
                .setUser(USER)
                .setWorkingDirectory(AbsoluteUnixPath.get("/farpage/programs"))
                .setEnvironment(ordered(
                        Map.of("PATH", "/farpage/runtime/bin", "XDG_RUNTIME_DIR", "/run", "HOME", "/var/lib/farpage")))
                .setEntrypoint("/farpage/runtime/bin/java")
                .setProgramArguments("@farpage", "--help")
                .setLabels(ordered(Map.of(
                        "org.opencontainers.image.title", "farpage",
                        "org.opencontainers.image.description", "Memory of other machines for virtual machines",
                        "org.opencontainers.image.licenses", "Apache-2.0",
                        "org.opencontainers.image.version", args[3],
                        "org.opencontainers.image.revision", args[4])));
        for (Path layer : sorted(layers)) {
            image.addFileEntriesLayer(layer(layer));
        }
        Path cache = layers.resolveSibling("cache");
        image.containerize(Containerizer.to(TarImage.at(file).named(args[2]))
                .setOfflineMode(true)
                .setToolName("farpage")
                .setBaseImageLayersCache(cache.resolve("base"))
                .setApplicationLayersCache(cache.resolve("layers")));
    }

    /** The order of a Map.of differs between JVMs, and the image keeps it. */
    private static Map<String, String> ordered(Map<String, String> entries) {
        return new TreeMap<>(entries);
    }

    private static FileEntriesLayer layer(Path folder) throws IOException {
        FileEntriesLayer.Builder layer =
                FileEntriesLayer.builder().setName(folder.getFileName().toString());
        for (Path top : sorted(folder)) {
            layer.addEntryRecursive(
                    top,
                    AbsoluteUnixPath.get("/" + top.getFileName()),
                    (source, _) -> permissions(source),
                    FileEntriesLayer.DEFAULT_MODIFICATION_TIME_PROVIDER,
                    (_, path) -> WRITABLE.contains(path.toString()) ? USER : ROOT);
        }
        return layer.build();
    }

    private static FilePermissions permissions(Path source) {
        return FilePermissions.fromOctalString(Files.isExecutable(source) ? "755" : "644");
    }

    private static List<Path> sorted(Path folder) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.sorted().toList();
        }
    }
}
