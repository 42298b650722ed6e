package io.farpage.verbs.ibverbs;

import io.farpage.verbs.Availability;
import io.farpage.verbs.Device;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.VerbsException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/**
 * Prints what {@link IbverbsProvider#probe()} finds, as {@code REASON: detail; fix} or {@code AVAILABLE: devices}: to
 * be run as another user, under other limits, or with other flags of the JVM than the tests are.
 *
 * <p>Arguments: {@code library=PATH}, {@code device=NAME}, {@code port=N}, {@code gid_index=N}, {@code pinned=BYTES};
 * {@code register=BYTES} registers so much with the first device. With {@code -} alone every line of the standard input
 * has the arguments of a probe, and an empty line ends what is printed of it.
 */
final class ProbeCommand {
    private ProbeCommand() {}

    public static void main(String[] args) throws IOException {
        if (!List.of(args).equals(List.of("-"))) {
            probe(List.of(args));
            return;
        }
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            probe(line.isBlank() ? List.of() : List.of(line.trim().split(" +")));
            System.out.println();
        }
    }

    private static void probe(List<String> args) {
        IbvOptions options = IbvOptions.DEFAULT;
        long register = 0;
        for (String arg : args) {
            String[] words = arg.split("=", 2);
            String value = words[1];
            switch (words[0]) {
                case "library" -> options = options.withLibrary(Path.of(value));
                case "device" -> options = options.withDevices(Set.of(value));
                case "port" -> options = options.withPort(Integer.parseInt(value));
                case "gid_index" -> options = options.withGidIndex(Integer.parseInt(value));
                case "pinned" -> options = options.withPinnedBytes(Long.parseLong(value));
                case "register" -> register = Long.parseLong(value);
                default -> throw new IllegalArgumentException(arg);
            }
        }
        IbverbsProvider provider = new IbverbsProvider(options);
        switch (provider.probe()) {
            case Availability.Unavailable why -> System.out.println(why.reason() + ": " + why);
            case Availability.Available(var devices) -> {
                System.out.println("AVAILABLE: " + devices);
                if (register > 0) {
                    register(provider, devices.getFirst(), register);
                }
            }
        }
    }

    private static void register(IbverbsProvider provider, String name, long bytes) {
        try (Arena arena = Arena.ofConfined();
                Device device = provider.open(name);
                ProtectionDomain domain = device.allocateProtectionDomain();
                MemoryRegion region = domain.registerMemory(arena.allocate(bytes, 4096), Set.of())) {
            System.out.println("REGISTERED: " + region.length());
        } catch (VerbsException e) {
            System.out.println("REFUSED: " + e.getMessage());
        }
    }
}
