package io.farpage.it;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaPackage;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.library.GeneralCodingRules;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;
import picocli.CommandLine.Command;

/** Who may use whom: arrows run downwards only. */
class ArchitectureTest {
    private static final String[] EVERYWHERE = {
        "java..", "javax.crypto..", "org.slf4j..", "org.jspecify..", "com.google.errorprone.annotations.."
    };

    private static final JavaClasses ALL = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages("io.farpage")
            .that(not(resideInAnyPackage("io.farpage.it..")));

    @Test
    void shouldSeeTheClassesOfAllModules() {
        Set<String> packages = new TreeSet<>();
        ALL.forEach(type -> packages.add(type.getPackageName()));
        for (String one :
                List.of("verbs.soft", "verbs.ibverbs", "pool", "coordinator.client", "agent.shard", "bench")) {
            assertTrue(packages.contains("io.farpage." + one), one + " in " + packages);
        }
    }

    @Test
    void shouldKeepVerbsToTheJdk() {
        classes()
                .that()
                .resideInAnyPackage("io.farpage.verbs..", "io.farpage.linux..")
                .should()
                .onlyDependOnClassesThat(resideInAnyPackage(and("io.farpage.verbs..", "io.farpage.linux..")))
                .check(ALL);
    }

    @Test
    void shouldKeepThePoolToTheJdkAndJnrPosix() {
        classes()
                .that()
                .resideInAPackage("io.farpage.pool..")
                .should()
                .onlyDependOnClassesThat(resideInAnyPackage(and("io.farpage.pool..", "jnr..", "com.kenai.jffi..")))
                .check(ALL);
    }

    @Test
    void shouldKeepTheCoordinatorFreeOfAgentsAndTheirMemory() {
        noClasses()
                .that()
                .resideInAnyPackage("io.farpage.coordinator..", "io.farpage.rest..", "io.farpage.config..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "io.farpage.verbs..", "io.farpage.pool..", "io.farpage.agent..", "io.farpage.bench..")
                .check(ALL);
        noClasses()
                .that()
                .resideInAnyPackage("io.farpage.rest..", "io.farpage.config..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.farpage.coordinator..")
                .check(ALL);
    }

    @Test
    void shouldLetAgentsUseOnlyTheClientAndTheModelOfTheCoordinator() {
        noClasses()
                .that()
                .resideInAPackage("io.farpage.agent..")
                .should()
                .dependOnClassesThat(resideInAnyPackage("io.farpage.coordinator..")
                        .and(not(resideInAnyPackage(
                                "io.farpage.coordinator.client..", "io.farpage.coordinator.model.."))))
                .check(ALL);
    }

    @Test
    void shouldKeepTheBenchmarkAtTheTop() {
        noClasses()
                .that()
                .resideOutsideOfPackage("io.farpage.bench..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.farpage.bench..")
                .check(ALL);
    }

    /** It never calls the coordinator, and never locks. */
    @Test
    void shouldKeepTheDataPlaneFromTheControlPlane() {
        noClasses()
                .that()
                .resideInAPackage("io.farpage.agent.shard..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "io.farpage.coordinator..",
                        "io.farpage.rest..",
                        "io.farpage.agent.link..",
                        "io.farpage.agent.member..",
                        "io.farpage.agent.rest..",
                        "java.util.concurrent.locks..")
                .check(ALL);
    }

    @Test
    void shouldHaveNoCyclesBetweenPackages() {
        slices().matching("io.farpage.(**)").should().beFreeOfCycles().check(ALL);
    }

    @Test
    void shouldLogThroughSlf4jOnly() {
        GeneralCodingRules.NO_CLASSES_SHOULD_USE_JAVA_UTIL_LOGGING.check(ALL);
    }

    /** Programs talk to people; what they are made of logs. */
    @Test
    void shouldWriteToStandardStreamsInProgramsOnly() {
        noClasses()
                .that()
                .areNotAnnotatedWith(Command.class)
                .and()
                .resideOutsideOfPackages("io.farpage.agent", "io.farpage.coordinator", "io.farpage.bench..")
                .should(GeneralCodingRules.ACCESS_STANDARD_STREAMS)
                .check(ALL);
    }

    @Test
    void shouldMarkEveryPackageForNullness() {
        Set<String> unmarked = new TreeSet<>();
        ALL.forEach(type -> {
            JavaPackage in = type.getPackage();
            if (!in.isAnnotatedWith(NullMarked.class)) {
                unmarked.add(in.getName());
            }
        });
        assertEquals(Set.of(), unmarked);
    }

    private static String[] and(String... more) {
        return java.util.stream.Stream.concat(java.util.stream.Stream.of(EVERYWHERE), java.util.stream.Stream.of(more))
                .toArray(String[]::new);
    }
}
