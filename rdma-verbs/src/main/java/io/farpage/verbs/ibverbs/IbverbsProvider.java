package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.verbs.Availability;
import io.farpage.verbs.Availability.Available;
import io.farpage.verbs.Availability.Reason;
import io.farpage.verbs.Availability.Unavailable;
import io.farpage.verbs.Device;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.VerbsProvider;
import io.farpage.verbs.ibverbs.LibIbverbs.Loading;
import io.farpage.verbs.ibverbs.LibIbverbs.Release;
import io.farpage.verbs.ibverbs.Ports.Choice;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** RDMA devices through libibverbs. Thread-safe. */
public final class IbverbsProvider implements VerbsProvider {
    private static final long PAGE = 4096;

    private final IbvOptions options;
    private final Host host;
    private @Nullable Loading loading;

    /** A provider that takes any device, its first active port and its best GID. */
    public IbverbsProvider() {
        this(IbvOptions.DEFAULT);
    }

    public IbverbsProvider(IbvOptions options) {
        this(options, Host.REAL);
    }

    IbverbsProvider(IbvOptions options, Host host) {
        this.options = options;
        this.host = host;
    }

    /** Bytes of native memory that a queue pair takes apart from what the library and the device take. */
    public static long nativeBytes(QpOptions queuePair) {
        QpOptions.Sizes sizes = queuePair.sizes();
        return (long) sizes.maxSendWr() * SendChain.stride(sizes.maxSge(), sizes.maxInlineData());
    }

    @Override
    public String name() {
        return "ibverbs";
    }

    @Override
    public List<String> present() {
        return host.devices().stream().filter(this::isWanted).toList();
    }

    private boolean isWanted(String device) {
        return options.devices().isEmpty() || options.devices().contains(device);
    }

    @Override
    public Availability probe(Set<String> except) {
        return switch (load()) {
            case Loading.Failed(Unavailable why) -> why;
            case Loading.Loaded(LibIbverbs library) -> probe(library, except);
        };
    }

    private synchronized Loading load() {
        if (loading == null) {
            loading = LibIbverbs.load(options.library());
        }
        return loading;
    }

    private Availability probe(LibIbverbs library, Set<String> except) {
        List<String> present = host.devices();
        if (present.isEmpty()) {
            return new Unavailable(
                    Reason.NO_DEVICE,
                    "this host has no RDMA device",
                    "load the driver of its NIC, or make a software one: modprobe rdma_rxe && rdma link add rxe0 type"
                            + " rxe netdev eth0");
        }
        List<String> wanted = present.stream().filter(this::isWanted).toList();
        if (wanted.isEmpty()) {
            return new Unavailable(
                    Reason.NO_DEVICE,
                    "none of the RDMA devices " + present + " is among the configured " + options.devices(),
                    "name one of them as device, or none for all");
        }
        Memlock memlock = host.memlock();
        long needed = Math.max(options.pinnedBytes(), PAGE);
        if (!memlock.permits(needed)) {
            return new Unavailable(
                    Reason.MEMLOCK_TOO_SMALL,
                    "RLIMIT_MEMLOCK permits " + memlock.bytes() + " bytes of registered memory",
                    Memlock.fix(needed));
        }
        TreeMap<String, Double> usable = new TreeMap<>();
        Unavailable first = null;
        for (String device : wanted) {
            if (except.contains(device)) {
                continue;
            }
            Outcome outcome = tryOpen(library, device);
            outcome.device.ifPresent(opened -> {
                usable.put(device, host.rate(device, opened.port()));
                opened.close();
            });
            first = first == null ? outcome.why : first;
        }
        if (usable.isEmpty() && first != null) {
            return first;
        }
        // The sort is stable: equally fast ones stay in the order of their names.
        return new Available(usable.keySet().stream()
                .sorted(Comparator.comparingDouble((String device) -> -usable.getOrDefault(device, 0.0)))
                .toList());
    }

    @Override
    public Device open(String device) {
        return switch (load()) {
            case Loading.Failed(Unavailable why) -> throw new VerbsException("open_device " + device + ": " + why);
            case Loading.Loaded(LibIbverbs library) -> {
                Outcome outcome = tryOpen(library, device);
                yield outcome.device.orElseThrow(
                        () -> new VerbsException("open_device " + device + ": " + outcome.why));
            }
        };
    }

    /** Either an open device or why there is none. */
    private record Outcome(
            Optional<IbvDevice> device, @Nullable Unavailable why) {}

    private Outcome tryOpen(LibIbverbs library, String name) {
        try (DeviceList list = new DeviceList(library)) {
            OptionalLong device = list.find(name);
            if (device.isEmpty()) {
                return refused(
                        Reason.NO_DEVICE,
                        host.devices().contains(name)
                                ? "libibverbs has no driver for " + name
                                : "there is no RDMA device " + name + "; there are " + host.devices(),
                        host.devices().contains(name)
                                ? "install its driver (apt-get install ibverbs-providers) and load ib_uverbs"
                                : "name one of those");
            }
            // SAFETY: the device is of the list, which is not closed yet.
            int transport =
                    Native.at(device.getAsLong(), Structs.Device.SIZE).get(JAVA_INT, Structs.Device.TRANSPORT_TYPE);
            if (transport != Structs.Device.TRANSPORT_IB) {
                return notReliable(name, transport);
            }
            Errno errno = Errno.create();
            long context = library.openDevice(errno, device.getAsLong());
            if (context == 0) {
                return notOpened(name, errno.value());
            }
            return examine(new DeviceContext(library, host, name, context));
        }
    }

    /** Finds the port of an open device; closes it if it has none. */
    private Outcome examine(DeviceContext context) {
        boolean keep = false;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr = DeviceProbe.query(context, arena);
            Choice choice = Ports.choose(context, options, Ports.count(attr));
            if (choice instanceof Choice.Unusable(Unavailable why)) {
                return new Outcome(Optional.empty(), why);
            }
            Choice.Usable place = (Choice.Usable) choice;
            IbvDevice opened = new IbvDevice(new NativeDevice(
                    context, place, DeviceProbe.attributes(context, attr, place.port()), Quirks.of(attr)));
            keep = true;
            return new Outcome(Optional.of(opened), null);
        } catch (VerbsException e) {
            return refused(
                    Reason.DEVICE_FAILED,
                    e.getMessage() == null ? context.name() + " failed" : e.getMessage(),
                    "see dmesg, and reload the device's driver");
        } finally {
            if (!keep) {
                context.library().release(Release.CLOSE_DEVICE, context.pointer());
            }
        }
    }

    private static Outcome notReliable(String device, int transport) {
        return transport == Structs.Device.TRANSPORT_IWARP
                ? refused(
                        Reason.NOT_RC,
                        device + " is an iWARP device, whose connections need the iWARP connection manager",
                        "switch its adapter to RoCE if it can (docs/rdma-setup.md), or name another device")
                : refused(
                        Reason.NOT_RC,
                        device + " has no reliable connections (RC): its transport type is " + transport
                                + ", as that of EFA",
                        "name a device of InfiniBand or RoCE, if there is one");
    }

    private Outcome notOpened(String device, int errno) {
        Path node = host.deviceNode(device).orElse(host.dev().resolve("infiniband/uverbs*"));
        // If the library may not open the node, it tries another path, whose error hides the first one.
        boolean forbidden = Files.exists(node) && !(Files.isReadable(node) && Files.isWritable(node));
        if (forbidden || errno == Errno.EACCES || errno == Errno.EPERM) {
            return refused(
                    Reason.PERMISSION_DENIED,
                    "no permission to read and write " + node + " of " + device,
                    "give this user read and write access: a udev rule with MODE=\"0666\", or its group; in a"
                            + " container also its device cgroup");
        }
        if (!Files.exists(node)) {
            return refused(
                    Reason.PERMISSION_DENIED,
                    "the kernel has " + device + " but " + node + " does not exist",
                    "load ib_uverbs; in a container hand it in: --device=/dev/infiniband");
        }
        return refused(
                Reason.DEVICE_FAILED,
                "cannot open " + device + " (" + node + "): " + ErrnoName.of(errno),
                "see dmesg, and reload the device's driver");
    }

    private static Outcome refused(Reason reason, String detail, String fix) {
        return new Outcome(Optional.empty(), new Unavailable(reason, detail, fix));
    }
}
