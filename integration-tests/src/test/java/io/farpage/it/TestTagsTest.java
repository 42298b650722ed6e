package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.AccessTarget.CodeUnitAccessTarget;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.domain.properties.HasAnnotations;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import io.farpage.it.harness.ChildJvm;
import java.lang.annotation.Annotation;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Tags;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;

/**
 * {@code make test} starts no program. A test that lacks a device or a package is skipped before it starts one, so the
 * rule is read off the byte code: it holds on every machine alike.
 */
@Tag("portable")
class TestTagsTest {
    private static final JavaClasses TESTS = new ClassFileImporter().importPackages("io.farpage.it");

    /** What refuses to run in {@code make test}, and is called for every program of farpage's and every browser. */
    private static final Set<String> STARTS =
            Set.of(ChildJvm.class.getName() + ".start", "io.farpage.it.harness.Chromium.<init>");

    private static final List<Class<? extends Annotation>> KINDS = List.of(Test.class, ParameterizedTest.class);

    private static final List<Class<? extends Annotation>> FIXTURES =
            List.of(BeforeAll.class, BeforeEach.class, AfterAll.class, AfterEach.class);

    @Test
    void shouldTagTestsThatStartPrograms() {
        Set<String> untagged = new TreeSet<>();
        int tagged = 0;
        for (JavaClass type : TESTS) {
            if (type.getModifiers().contains(JavaModifier.ABSTRACT)) {
                continue;
            }
            Set<JavaMethod> fixtures = new HashSet<>();
            type.getAllMethods().stream()
                    .filter(method -> isAny(method, FIXTURES))
                    .forEach(fixtures::add);
            for (JavaMethod method : type.getAllMethods()) {
                if (!isAny(method, KINDS)) {
                    continue;
                }
                if (isTagged(method) || isTagged(type)) {
                    tagged++;
                } else if (startsProgram(
                        Stream.concat(Stream.of(method), fixtures.stream()).toList())) {
                    untagged.add(type.getSimpleName() + "." + method.getName());
                }
            }
        }
        assertTrue(tagged > 100, "tests with a tag: " + tagged);
        assertEquals(Set.of(), untagged, "give each @Tag(\"processes\")");
    }

    private static boolean isAny(JavaMethod method, List<Class<? extends Annotation>> kinds) {
        return kinds.stream().anyMatch(method::isAnnotatedWith);
    }

    /** Whether make test leaves it out. */
    private static boolean isTagged(HasAnnotations<?> place) {
        Stream<Tag> one = place.tryGetAnnotationOfType(Tag.class).stream();
        Stream<Tag> several =
                place.tryGetAnnotationOfType(Tags.class).stream().flatMap(all -> Arrays.stream(all.value()));
        return Stream.concat(one, several).map(Tag::value).anyMatch(Set.of("processes", "soak")::contains);
    }

    private static boolean startsProgram(Iterable<? extends JavaCodeUnit> begin) {
        Deque<JavaCodeUnit> next = new ArrayDeque<>();
        Set<String> seen = new HashSet<>();
        begin.forEach(next::add);
        while (!next.isEmpty()) {
            JavaCodeUnit unit = next.pop();
            if (STARTS.contains(unit.getOwner().getName() + "." + unit.getName())) {
                return true;
            }
            if (seen.add(unit.getFullName())) {
                Stream.of(
                                unit.getCallsFromSelf().stream(),
                                unit.getMethodReferencesFromSelf().stream(),
                                unit.getConstructorReferencesFromSelf().stream())
                        .flatMap(all -> all)
                        .map(access -> (CodeUnitAccessTarget) access.getTarget())
                        .flatMap(target -> target.resolveMember().stream())
                        .filter(member -> TESTS.contain(member.getOwner().getName()))
                        .forEach(next::add);
            }
        }
        return false;
    }
}
