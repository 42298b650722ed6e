package io.farpage.it;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.ArchConfiguration;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaPackage;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.library.GeneralCodingRules;
import io.farpage.coordinator.model.Extent;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.MethodModel;
import java.lang.classfile.instruction.MonitorInstruction;
import java.lang.reflect.AccessFlag;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.core.ConditionFactory;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import picocli.CommandLine.Command;

/** Who may use whom: arrows run downwards only. */
@Tag("portable")
class ArchitectureTest {
    private static final String[] EVERYWHERE = {
        "java..", "javax.crypto..", "org.slf4j..", "org.jspecify..", "com.google.errorprone.annotations.."
    };

    static {
        // The rules look at names. Reading the classes of the JDK and of libraries as well would take three times as
        // long.
        ArchConfiguration.get().setResolveMissingDependenciesFromClassPath(false);
    }

    private static final JavaClasses ALL = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages("io.farpage")
            .that(not(resideInAnyPackage("io.farpage.it..")));

    @Test
    void shouldSeeTheClassesOfAllModules() {
        Set<String> packages = new TreeSet<>();
        ALL.forEach(type -> packages.add(type.getPackageName()));
        for (String one : List.of(
                "linux",
                "verbs.soft",
                "verbs.ibverbs",
                "pool",
                "coordinator.client",
                "agent.data.shard",
                "bench",
                "cli")) {
            assertTrue(packages.contains("io.farpage." + one), one + " in " + packages);
        }
    }

    @Test
    void shouldKeepLinuxToTheJdkAndJnrPosix() {
        onlyDepend("io.farpage.linux..", "jnr..");
    }

    @Test
    void shouldKeepVerbsToTheJdkAndLinux() {
        onlyDepend("io.farpage.verbs..", "io.farpage.linux..");
    }

    @Test
    void shouldKeepThePoolToTheJdkAndLinux() {
        onlyDepend("io.farpage.pool..", "io.farpage.linux..");
    }

    private static void onlyDepend(String packages, String on) {
        classes()
                .that()
                .resideInAPackage(packages)
                .should()
                .onlyDependOnClassesThat(resideInAnyPackage(and(packages, on)))
                .check(ALL);
    }

    /** All that links to the C library is the bindings of Linux and those of libibverbs. */
    @Test
    void shouldBindTheCLibraryInOnePackage() {
        noClasses()
                .that()
                .resideOutsideOfPackages("io.farpage.linux..", "io.farpage.verbs.ibverbs..")
                .should()
                .dependOnClassesThat()
                .haveFullyQualifiedName("java.lang.foreign.Linker")
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

    /** What these tests run with is the class path of all programs but the coordinator's. */
    @Test
    void shouldKeepEtcdOffTheClassPathOfAgents() {
        for (String name : List.of("io.etcd.jetcd.Client", "io.grpc.Channel", "io.netty.channel.Channel")) {
            assertThrows(ClassNotFoundException.class, () -> Class.forName(name), name);
        }
    }

    @Test
    void shouldKeepTheBenchmarkAtTheTop() {
        noClasses()
                .that()
                .resideOutsideOfPackages("io.farpage.bench..", "io.farpage.guest..", "io.farpage.cli..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("io.farpage.bench..", "io.farpage.guest..")
                .check(ALL);
    }

    @Test
    void shouldKeepTheFrontCommandAboveAllPrograms() {
        noClasses()
                .that()
                .resideOutsideOfPackage("io.farpage.cli..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.farpage.cli..")
                .check(ALL);
    }

    @Test
    void shouldKeepTheGuestForMeasuringFromAgentsAndTheBenchmark() {
        noClasses()
                .that()
                .resideInAPackage("io.farpage.guest..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("io.farpage.agent..", "io.farpage.bench..", "io.farpage.coordinator..")
                .check(ALL);
    }

    @Test
    void shouldKeepTheDataPlaneFromTheControlPlane() {
        noClasses()
                .that()
                .resideInAPackage("io.farpage.agent.data..")
                .should()
                .dependOnClassesThat(resideInAnyPackage("io.farpage.agent..")
                        .and(not(resideInAnyPackage("io.farpage.agent.data..")))
                        .or(resideInAnyPackage(
                                "io.farpage.coordinator..",
                                "io.farpage.rest..",
                                "io.farpage.config..",
                                "java.util.concurrent.locks..",
                                "java.net.http..")))
                .check(ALL);
    }

    /** The packages of the pager have public types for each other; all else sees few of them. */
    @Test
    void shouldShowFewTypesOfThePager() {
        Set<String> shown = Set.of(
                "CopyProgress",
                "FaultQueue",
                "FaultTrace",
                "FreezeStatus",
                "GuestLayout",
                "GuestRegion",
                "Heat",
                "KeptTable",
                "Mirroring",
                "OffHeap",
                "PageCensus",
                "PageTableException",
                "PagedGuest",
                "Pager",
                "PagerBacking",
                "PagerCounters",
                "PagerEnd",
                "PagerOptions",
                "PagerStatus",
                "Pins",
                "PresenceMap",
                "ReadaheadPredictor",
                "SpaceMap",
                "VictimMemory",
                "Zeros");
        noClasses()
                .that()
                .resideOutsideOfPackage("io.farpage.agent.data.pager..")
                .should()
                .dependOnClassesThat(resideInAPackage("io.farpage.agent.data.pager..")
                        .and(describe("are the pager's own", type -> !shown.contains(topLevelName(type)))))
                .check(ALL);
    }

    private static String topLevelName(JavaClass type) {
        String name = type.getName().substring(type.getPackageName().length() + 1);
        return name.contains("$") ? name.substring(0, name.indexOf('$')) : name;
    }

    /** Neither {@code synchronized} methods nor blocks: a shard waits for no other thread. */
    @Test
    void shouldNotLockInTheDataPlane() {
        Set<String> locking = new TreeSet<>();
        ALL.that(resideInAnyPackage("io.farpage.agent.data..")).forEach(type -> {
            for (MethodModel method : parsed(type).methods()) {
                boolean blocks = method.code().stream()
                        .flatMap(code -> code.elementStream())
                        .anyMatch(MonitorInstruction.class::isInstance);
                if (blocks || method.flags().has(AccessFlag.SYNCHRONIZED)) {
                    locking.add(type.getName() + "." + method.methodName().stringValue());
                }
            }
        });
        assertEquals(Set.of(), locking);
    }

    private static ClassModel parsed(JavaClass type) {
        URI uri = type.getSource().orElseThrow().getUri();
        try (InputStream in = uri.toURL().openStream()) {
            return ClassFile.of().parse(in.readAllBytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void shouldKeepTheServerOfTheCoordinatorOutOfTheAgent() {
        noClasses()
                .that()
                .resideInAPackage("io.farpage.agent..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("org.h2..", "io.farpage.coordinator.store..", "io.farpage.coordinator.cluster..")
                .check(ALL);
    }

    /** An extent has no method that changes it; the placement of a space makes the first. */
    @Test
    void shouldChangeExtentsByTheirCommandsAlone() {
        noClasses()
                .that()
                .resideOutsideOfPackages("io.farpage.coordinator.extent", "io.farpage.coordinator.model")
                .and()
                .haveSimpleNameNotStartingWith("Placement")
                .and()
                .haveSimpleNameNotStartingWith("RehearsalCoordinator")
                .should()
                .callConstructorWhere(describe(
                        "it is an extent's", call -> call.getTargetOwner().isEquivalentTo(Extent.class)))
                .check(ALL);
    }

    @Test
    void shouldHaveNoCyclesBetweenPackages() {
        slices().matching("io.farpage.(**)").should().beFreeOfCycles().check(ALL);
    }

    /**
     * A wait of a fixed time, the same on a loaded machine, fails there. Time in the simulation is virtual, and passes
     * as the simulation wants. The classes are those that are compiled beside these.
     */
    @Test
    void shouldWaitInTestsByDeadlinesThatScale() throws IOException {
        Path root = Path.of(System.getProperty("farpage.root"));
        List<Path> compiled;
        try (Stream<Path> directories = Files.walk(root, 4)) {
            compiled = directories
                    .filter(directory -> directory.endsWith("target/test-classes"))
                    .toList();
        }
        assertTrue(compiled.contains(root.resolve("page-agent/target/test-classes")), compiled.toString());
        JavaClasses tests = new ClassFileImporter().importPaths(compiled);
        noClasses()
                .that()
                .resideOutsideOfPackages("io.farpage.it.deadlines", "io.farpage.it.simulation..")
                .should()
                .dependOnClassesThat()
                .haveFullyQualifiedName("org.awaitility.Awaitility")
                .orShould()
                .callMethod(ConditionFactory.class, "atMost", Duration.class)
                .orShould()
                .callMethod(Future.class, "get", long.class, TimeUnit.class)
                .orShould()
                .callMethod(CompletableFuture.class, "get", long.class, TimeUnit.class)
                .check(tests);
        // What hangs ends by the limit that pom.xml sets for all tests.
        tests.stream()
                .flatMap(type -> Stream.concat(Stream.of(type), type.getMethods().stream()))
                .forEach(each -> each.tryGetAnnotationOfType(Timeout.class)
                        .map(limit -> Duration.of(limit.value(), limit.unit().toChronoUnit()))
                        .ifPresent(limit -> assertTrue(limit.toMinutes() >= 10, each + " is limited to " + limit)));
    }

    @Test
    void shouldLeaveCommandsToTheMainClass() {
        for (String program : List.of("io.farpage.agent", "io.farpage.coordinator")) {
            noClasses()
                    .that()
                    .resideInAPackage(program + "..")
                    .and()
                    .resideOutsideOfPackages(program, program + ".command")
                    .should()
                    .dependOnClassesThat()
                    .resideInAnyPackage(program, program + ".command")
                    .check(ALL);
        }
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
                .resideOutsideOfPackages(
                        "io.farpage.agent.command",
                        "io.farpage.coordinator.command",
                        "io.farpage.progress",
                        "io.farpage.bench..",
                        "io.farpage.guest..")
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
        return Stream.concat(Stream.of(EVERYWHERE), Stream.of(more)).toArray(String[]::new);
    }
}
