package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * How many classes of a package reach each other in a circle: to understand or to change one of them, a reader needs
 * them all.
 */
@Tag("portable")
class ClassCirclesTest {

    /** Classes of a circle at most. */
    private static final int MOST = 6;

    @Test
    void shouldKeepCirclesOfClassesSmall() {
        Map<String, Map<String, Set<String>>> packages = new HashMap<>();
        for (JavaClass type : new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .importPackages("io.farpage")) {
            Set<String> uses = packages.computeIfAbsent(type.getPackageName(), _ -> new TreeMap<>())
                    .computeIfAbsent(topLevel(type), _ -> new TreeSet<>());
            type.getDirectDependenciesFromSelf().stream()
                    .map(Dependency::getTargetClass)
                    .map(JavaClass::getBaseComponentType)
                    .filter(used -> used.getPackageName().equals(type.getPackageName()))
                    .map(ClassCirclesTest::topLevel)
                    .forEach(uses::add);
        }
        Map<String, Integer> larger = new TreeMap<>();
        packages.forEach((name, classes) -> {
            int largest = largestCircle(classes);
            if (largest > MOST) {
                larger.put(name, largest);
            }
        });
        assertEquals(Map.of(), larger);
    }

    private static String topLevel(JavaClass type) {
        return type.getEnclosingClass().map(ClassCirclesTest::topLevel).orElseGet(type::getFullName);
    }

    private static int largestCircle(Map<String, Set<String>> uses) {
        Map<String, Set<String>> reached =
                uses.keySet().stream().collect(Collectors.toMap(name -> name, name -> reachable(uses, name)));
        return uses.keySet().stream()
                .mapToInt(name -> (int) reached.getOrDefault(name, Set.of()).stream()
                        .filter(other -> reached.getOrDefault(other, Set.of()).contains(name))
                        .count())
                .max()
                .orElse(0);
    }

    private static Set<String> reachable(Map<String, Set<String>> uses, String from) {
        Set<String> reached = new HashSet<>();
        Deque<String> left = new ArrayDeque<>(uses.getOrDefault(from, Set.of()));
        while (!left.isEmpty()) {
            String next = left.pop();
            if (reached.add(next)) {
                left.addAll(uses.getOrDefault(next, Set.of()));
            }
        }
        return reached;
    }
}
