package io.farpage.coordinator;

import io.farpage.coordinator.model.operation.ClusterOperations;
import io.farpage.rest.Operation;
import java.io.IOException;
import java.lang.reflect.Field;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The operations that the classes of the package {@code model.operation} declare. */
public final class DeclaredOperations {

    private DeclaredOperations() {}

    /** All of them; one that is declared twice is in the list twice. */
    public static List<Operation<?, ?>> all() throws IOException, ReflectiveOperationException, URISyntaxException {
        Class<?> one = ClusterOperations.class;
        Path directory =
                Path.of(one.getResource(one.getSimpleName() + ".class").toURI()).getParent();
        List<String> names;
        try (Stream<Path> files = Files.list(directory)) {
            names = files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith("Operations.class"))
                    .sorted()
                    .toList();
        }
        List<Operation<?, ?>> operations = new ArrayList<>();
        for (String name : names) {
            for (Field field : Class.forName(one.getPackageName() + "." + name.replace(".class", ""))
                    .getFields()) {
                if (field.get(null) instanceof Operation<?, ?> operation) {
                    operations.add(operation);
                }
            }
        }
        return operations;
    }
}
