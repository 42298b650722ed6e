package io.farpage.agent.control.device;

import io.farpage.verbs.Availability;
import io.farpage.verbs.Device;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.VerbsProvider;
import io.farpage.verbs.soft.IdleStrategy;
import io.farpage.verbs.soft.SoftOptions;
import io.farpage.verbs.soft.SoftProvider;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;

/** Soft devices under names of RDMA devices, which come and go. Waiting for their events takes no time. */
public final class FakeRdma implements VerbsProvider {
    private static final int ENODEV = 19;

    private final SoftProvider soft = new SoftProvider(
            SoftOptions.DEFAULT.withResponders(new SoftOptions.Responders(IdleStrategy.BLOCK, Duration.ZERO)));

    final Set<String> present = new TreeSet<>();
    /** The present name of devices that were renamed after they were opened, by the name that they were opened by. */
    final Map<String, String> renamed = new HashMap<>();
    /** Devices that are not usable yet. */
    final Set<String> down = new TreeSet<>();
    /** What happens before memory is registered. Any thread. */
    public volatile Runnable onRegister = () -> {};
    /** Names of devices in the order in which they were probed. */
    final List<String> probed = new ArrayList<>();
    /** The same of those that were opened for use. */
    final List<String> opened = new ArrayList<>();

    public FakeRdma(String... devices) {
        present.addAll(List.of(devices));
    }

    public static SoftProvider tcp() {
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
        return around(Device.class, device, method -> switch (method) {
            case "name", "toString" -> Optional.of(name);
            case "presentName" -> Optional.of(renamed.getOrDefault(name, name));
            case "awaitAsyncEvent" -> Optional.of(Optional.empty());
            case "queryPort" -> {
                if (!present.contains(renamed.getOrDefault(name, name))) {
                    throw new VerbsException("query_port on " + name + ": ENODEV", ENODEV);
                }
                yield Optional.empty();
            }
            case "allocateProtectionDomain" ->
                Optional.of(around(ProtectionDomain.class, device.allocateProtectionDomain(), this::registering));
            default -> Optional.empty();
        });
    }

    private Optional<Object> registering(String method) {
        if (method.equals("registerMemory")) {
            onRegister.run();
        }
        return Optional.empty();
    }

    /** {@code target}, except for what {@code answer} has an answer to. */
    private static <T> T around(Class<T> type, T target, Function<String, Optional<?>> answer) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (_, method, arguments) -> {
                    Optional<?> given = answer.apply(method.getName());
                    if (given.isPresent()) {
                        return given.get();
                    }
                    try {
                        return method.invoke(target, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
    }
}
