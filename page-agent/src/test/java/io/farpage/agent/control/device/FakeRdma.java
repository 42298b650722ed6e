package io.farpage.agent.control.device;

import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.Availability;
import io.farpage.verbs.Device;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.VerbsProvider;
import io.farpage.verbs.soft.IdleStrategy;
import io.farpage.verbs.soft.SoftOptions;
import io.farpage.verbs.soft.SoftProvider;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** Soft devices under names of RDMA devices, which come and go. Waiting for their events takes no time. */
final class FakeRdma implements VerbsProvider {
    private static final int ENODEV = 19;

    private final SoftProvider soft = new SoftProvider(
            SoftOptions.DEFAULT.withResponders(new SoftOptions.Responders(IdleStrategy.BLOCK, Duration.ZERO)));

    final Set<String> present = new TreeSet<>();
    /** Devices that are not usable yet. */
    final Set<String> down = new TreeSet<>();
    /** Names of devices in the order in which they were probed. */
    final List<String> probed = new ArrayList<>();
    /** The same of those that were opened for use. */
    final List<String> opened = new ArrayList<>();

    FakeRdma(String... devices) {
        present.addAll(List.of(devices));
    }

    static SoftProvider tcp() {
        return new SoftProvider(
                SoftOptions.DEFAULT.withResponders(new SoftOptions.Responders(IdleStrategy.BLOCK, Duration.ZERO)));
    }

    @Override
    public String name() {
        return "fake";
    }

    @Override
    public List<String> present() {
        return List.copyOf(present);
    }

    @Override
    public Availability probe(Set<String> except) {
        Set<String> asked = new TreeSet<>(present);
        asked.removeAll(except);
        probed.addAll(asked);
        if (asked.isEmpty()) {
            return new Availability.Unavailable(Availability.Reason.NO_DEVICE, "there is none", "plug one in");
        }
        asked.removeAll(down);
        return asked.isEmpty()
                ? new Availability.Unavailable(Availability.Reason.PORT_NOT_ACTIVE, "it is down", "bring it up")
                : new Availability.Available(List.copyOf(asked));
    }

    @Override
    public Device open(String name) {
        opened.add(name);
        Device device = soft.open(SoftProvider.DEVICE);
        return (Device) Proxy.newProxyInstance(
                Device.class.getClassLoader(), new Class<?>[] {Device.class}, (_, method, arguments) -> {
                    switch (method.getName()) {
                        case "name", "toString":
                            return name;
                        case "awaitAsyncEvent":
                            return Optional.<AsyncEvent>empty();
                        case "queryPort":
                            if (!present.contains(name)) {
                                throw new VerbsException("query_port on " + name + ": ENODEV", ENODEV);
                            }
                            break;
                        default:
                            break;
                    }
                    try {
                        return method.invoke(device, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }
}
