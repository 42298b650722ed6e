package io.farpage.verbs.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.Availability;
import io.farpage.verbs.Availability.Reason;
import io.farpage.verbs.Availability.Unavailable;
import io.farpage.verbs.VerbsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Each reason why no device is usable that can be brought about without one; the others are brought about in the rig.
 */
final class AvailabilityTest {
    private static final long LOCKED = 65_536;

    @TempDir
    private Path directory = Path.of("");

    @Test
    void shouldNameTheLibraryWhenItIsMissing() {
        Unavailable why = probe(IbvOptions.DEFAULT.withLibrary(Path.of("/nonexistent/libibverbs.so.1")), Host.REAL);

        assertEquals(Reason.NO_LIBRARY, why.reason());
        assertTrue(why.detail().contains("/nonexistent/libibverbs.so.1"), why.toString());
        assertTrue(why.fix().contains("apt-get install libibverbs1"), why.toString());
    }

    @Test
    void shouldNameEverySymbolThatALibraryLacks() throws Exception {
        Path library = library("ibv_get_device_list", "ibv_open_device");

        Unavailable why = probe(IbvOptions.DEFAULT.withLibrary(library), Host.REAL);

        assertEquals(Reason.MISSING_SYMBOL, why.reason());
        assertTrue(why.detail().contains("ibv_create_qp, ibv_modify_qp"), why.toString());
        assertTrue(!why.detail().contains("ibv_open_device"), why.toString());
    }

    @Test
    void shouldNameTheFlagWhenNativeAccessIsDenied() throws Exception {
        List<String> command = List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--illegal-native-access=deny",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                ProbeCommand.class.getName());

        int exit = CCompiler.run(directory, command);

        String output = Files.readString(directory.resolve("output"));
        assertEquals(0, exit, output);
        assertTrue(output.startsWith("NATIVE_ACCESS_DENIED: "), output);
        assertTrue(output.contains("--enable-native-access=ALL-UNNAMED"), output);
        assertEquals(1, output.lines().count(), output);
    }

    @Test
    void shouldReportNoDeviceWhenHostHasNone() throws Exception {
        Unavailable why = probe(IbvOptions.DEFAULT.withLibrary(completeLibrary()), host());

        assertEquals(Reason.NO_DEVICE, why.reason());
        assertTrue(why.fix().contains("modprobe rdma_rxe && rdma link add"), why.toString());
    }

    @Test
    void shouldNameTheDevicesThatTheFilterLeavesOut() throws Exception {
        IbvOptions options = IbvOptions.DEFAULT.withLibrary(completeLibrary()).withDevices(Set.of("mlx5_7"));

        Unavailable why = probe(options, host("rxe0", "rxe1"));

        assertEquals(Reason.NO_DEVICE, why.reason());
        assertTrue(why.detail().contains("[rxe0, rxe1]") && why.detail().contains("mlx5_7"), why.toString());
    }

    @Test
    void shouldReportAMissingDriverOfADevice() throws Exception {
        Unavailable why = probe(IbvOptions.DEFAULT.withLibrary(completeLibrary()), host("rxe0"));

        assertEquals(Reason.NO_DEVICE, why.reason());
        assertTrue(why.fix().contains("ibverbs-providers"), why.toString());
    }

    @Test
    void shouldNameTheMemlockThatIsNeeded() throws Exception {
        IbvOptions options = IbvOptions.DEFAULT.withLibrary(completeLibrary()).withPinnedBytes(1L << 30);
        Host host = host("rxe0");
        limit(host, "0000000000000000");

        Unavailable why = probe(options, host);

        assertEquals(Reason.MEMLOCK_TOO_SMALL, why.reason());
        assertTrue(why.detail().contains(String.valueOf(LOCKED)), why.toString());
        assertTrue(why.fix().contains("1073741824") && why.fix().contains("ulimit -l 1048576"), why.toString());
    }

    @Test
    void shouldIgnoreMemlockWhenProcessHasCapIpcLock() throws Exception {
        IbvOptions options = IbvOptions.DEFAULT.withLibrary(completeLibrary()).withPinnedBytes(1L << 30);
        Host host = host("rxe0");
        limit(host, "0000000000004000");

        assertEquals(Reason.NO_DEVICE, probe(options, host).reason());
        mapUsers(host, "         0          0 4294967295\n");
        assertEquals(Reason.NO_DEVICE, probe(options, host).reason(), "the initial user namespace");
    }

    @Test
    void shouldNotIgnoreMemlockWhenCapIpcLockIsOfAUserNamespace() throws Exception {
        IbvOptions options = IbvOptions.DEFAULT.withLibrary(completeLibrary()).withPinnedBytes(1L << 30);
        Host host = host("rxe0");
        limit(host, "0000000000004000");

        mapUsers(host, "         0     100000      65536\n");
        assertEquals(Reason.MEMLOCK_TOO_SMALL, probe(options, host).reason(), "of a container engine");
        mapUsers(host, "         0       1000          1\n         1     100000      65536\n");
        assertEquals(Reason.MEMLOCK_TOO_SMALL, probe(options, host).reason(), "of a user without root");
    }

    @Test
    void shouldNameTheReasonWhenAnUnavailableDeviceIsOpened() {
        IbverbsProvider provider =
                new IbverbsProvider(IbvOptions.DEFAULT.withLibrary(Path.of("/nonexistent/libibverbs.so.1")));

        VerbsException thrown = assertThrows(VerbsException.class, () -> provider.open("mlx5_0"));

        assertTrue(
                String.valueOf(thrown.getMessage()).startsWith("open_device mlx5_0: cannot load /nonexistent"),
                thrown.toString());
    }

    private static Unavailable probe(IbvOptions options, Host host) {
        Availability found = new IbverbsProvider(options, host).probe();
        return assertInstanceOf(Unavailable.class, found);
    }

    /** A host with these devices, to look at. */
    private Host host(String... devices) throws Exception {
        Host host = new Host(directory.resolve("sys"), directory.resolve("dev"), directory.resolve("proc"));
        for (String device : devices) {
            Files.createDirectories(host.sys().resolve("class/infiniband").resolve(device));
        }
        return host;
    }

    /** Gives the host's processes a memlock limit and these capabilities. */
    private static void limit(Host host, String capabilities) throws Exception {
        Path self = Files.createDirectories(host.proc().resolve("self"));
        Files.writeString(
                self.resolve("limits"),
                "Limit                     Soft Limit           Hard Limit           Units     \n"
                        + "Max locked memory         " + LOCKED + "                65536                bytes     \n");
        Files.writeString(self.resolve("status"), "Name:\tjava\nCapEff:\t" + capabilities + "\n");
    }

    /** Says which ids of the parent's user namespace the host's processes have. */
    private static void mapUsers(Host host, String map) throws Exception {
        Files.writeString(host.proc().resolve("self/uid_map"), map);
    }

    /** A library that has everything by name, and no device. */
    private Path completeLibrary() throws Exception {
        Unavailable why = probe(IbvOptions.DEFAULT.withLibrary(library("nothing")), Host.REAL);
        String names = why.detail().substring(why.detail().indexOf(" lacks ") + " lacks ".length());
        return library(names.split(", ", -1));
    }

    private Path library(String... functions) throws Exception {
        String source = List.of(functions).stream()
                .map(function -> "void *" + function + "(void) { return 0; }\n")
                .collect(Collectors.joining());
        return CCompiler.compile(directory, "libstub" + functions.length + ".so", source, "-shared", "-fPIC");
    }
}
