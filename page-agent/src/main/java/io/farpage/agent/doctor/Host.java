package io.farpage.agent.doctor;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.control.device.TransportMode;
import io.farpage.config.Config;
import io.farpage.linux.Capabilities;
import io.farpage.verbs.Availability;
import io.farpage.verbs.Device;
import io.farpage.verbs.PortAttributes;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.VerbsProvider;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the checks know of a host and its configuration.
 *
 * @param pool what the configured pool needs
 * @param availability what the verbs provider found
 * @param ports of each usable device the port that the provider chose, by the device's name
 * @param devices all RDMA devices
 * @param used those of them that the configuration allows
 */
record Host(
        Config config,
        Tree tree,
        PoolNeed pool,
        Availability availability,
        Map<String, PortAttributes> ports,
        List<RdmaDevice> devices,
        List<RdmaDevice> used) {
    private static final Pattern KERNEL = Pattern.compile("^(\\d{1,6})\\.(\\d{1,6}).*", Pattern.DOTALL);

    /** Asks {@code provider} and opens each device it offers for a moment: no file tells a port's active MTU. */
    static Host examine(Config config, Tree tree, VerbsProvider provider) {
        List<RdmaDevice> devices = RdmaDevice.all(tree);
        if (config.get(AgentKeys.TRANSPORT_MODE) == TransportMode.TCP) {
            Availability none = new Availability.Available(List.of());
            return new Host(config, tree, PoolNeed.of(config), none, Map.of(), devices, List.of());
        }
        Availability availability = provider.probe();
        Map<String, PortAttributes> ports = new TreeMap<>();
        if (availability instanceof Availability.Available(List<String> names)) {
            for (String name : names) {
                try (Device device = provider.open(name)) {
                    ports.put(name, device.queryPort());
                } catch (VerbsException e) {
                    // It went away since it was found; the files show that.
                    ports.remove(name);
                }
            }
        }
        List<String> wanted = config.get(AgentKeys.RDMA_DEVICE);
        List<RdmaDevice> used = devices.stream()
                .filter(device -> wanted.isEmpty() || wanted.contains(device.name()))
                .toList();
        return new Host(config, tree, PoolNeed.of(config), availability, ports, devices, used);
    }

    TransportMode mode() {
        return config.get(AgentKeys.TRANSPORT_MODE);
    }

    long numaNodes() {
        return tree.names("/sys/devices/system/node").stream()
                .filter(name -> name.matches("node\\d+"))
                .count();
    }

    /** Whether this process has a capability in the initial user namespace, by its number (capabilities(7)). */
    boolean hasCapability(int number) {
        return Capabilities.isEffective(
                number, tree.text("/proc/self/status").orElse(""), tree.text("/proc/self/uid_map"));
    }

    /** The soft limit of a resource as {@code /proc/self/limits} names it: a number or {@code unlimited}. */
    Optional<String> limit(String resource) {
        Matcher limit = Pattern.compile("(?m)^" + resource + " +(\\d+|unlimited) ")
                .matcher(tree.text("/proc/self/limits").orElse(""));
        return limit.find() ? Optional.of(limit.group(1)) : Optional.empty();
    }

    boolean isKernelSince(int major, int minor) {
        Matcher kernel = KERNEL.matcher(tree.text("/proc/sys/kernel/osrelease").orElse(""));
        if (!kernel.matches()) {
            return false;
        }
        int its = Integer.parseInt(kernel.group(1));
        return its > major || (its == major && Integer.parseInt(kernel.group(2)) >= minor);
    }
}
