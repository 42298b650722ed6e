package io.farpage.coordinator.server;

import io.farpage.coordinator.model.operation.ClusterOperations;
import io.farpage.rest.Operation;
import java.io.IOException;
import java.lang.reflect.Field;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

/** The operations that the classes of the package {@code model.operation} declare. */
public final class DeclaredOperations {

    private static final Class<?> ONE = ClusterOperations.class;

    private DeclaredOperations() {}

    /** All of them; one that is declared twice is in the list twice. */
    public static List<Operation<?, ?>> all() throws IOException, ReflectiveOperationException, URISyntaxException {
        List<Operation<?, ?>> operations = new ArrayList<>();
        for (String name : classes()) {
            for (Field field : Class.forName(ONE.getPackageName() + "." + name).getFields()) {
                if (field.get(null) instanceof Operation<?, ?> operation) {
                    operations.add(operation);
                }
            }
        }
        return operations;
    }

    /** The names of the classes, in a directory or in a jar. */
    private static List<String> classes() throws IOException, URISyntaxException {
        URI file = Objects.requireNonNull(ONE.getResource(ONE.getSimpleName() + ".class"))
                .toURI();
        if (!file.getScheme().equals("jar")) {
            return classes(Path.of(file));
        }
        try (FileSystem jar = FileSystems.newFileSystem(file, Map.of())) {
            return classes(jar.provider().getPath(file));
        }
    }

    private static List<String> classes(Path one) throws IOException {
        try (Stream<Path> files = Files.list(Objects.requireNonNull(one.getParent()))) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith("Operations.class"))
                    .map(name -> name.replace(".class", ""))
                    .sorted()
                    .toList();
        }
    }
}
