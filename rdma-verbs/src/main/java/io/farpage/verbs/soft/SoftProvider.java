package io.farpage.verbs.soft;

import io.farpage.linux.Libc;
import io.farpage.linux.Message;
import io.farpage.linux.NativeThread;
import io.farpage.linux.crypto.LibSsl;
import io.farpage.linux.crypto.TlsStream;
import io.farpage.verbs.Availability;
import io.farpage.verbs.Availability.Reason;
import io.farpage.verbs.Device;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.VerbsProvider;
import java.util.List;
import java.util.Set;

/**
 * Verbs in user space over TCP. Its one device is {@code soft0}; opening it several times gives devices that share
 * nothing.
 */
public final class SoftProvider implements VerbsProvider {
    /** Name of the device. */
    public static final String DEVICE = "soft0";

    private final SoftOptions options;
    private volatile RefusedConnection.Listener refusals = _ -> {};

    /** A provider whose devices listen on the loopback interface. */
    public SoftProvider() {
        this(SoftOptions.DEFAULT);
    }

    public SoftProvider(SoftOptions options) {
        this.options = options;
    }

    /** Has the connections that devices of this provider refuse from now on told to a listener. Any thread. */
    public void onRefusal(RefusedConnection.Listener listener) {
        refusals = listener;
    }

    /** Bytes of native memory that a queue pair takes with its two connections, if these are encrypted. */
    public static long nativeBytes(QpOptions options) {
        QpOptions.Sizes sizes = SoftDevice.clamp(options).sizes();
        return SendQueue.bytes(sizes.maxSendWr(), sizes.maxInlineData())
                + Message.bytes(RequestSender.buffers(sizes.maxSge()))
                + Message.bytes(ReplyReceiver.buffers(sizes.maxSge()))
                + RequestStream.CAPACITY
                + ReplyBatch.BYTES
                + 2L * TlsStream.MAX_RECORD;
    }

    @Override
    public String name() {
        return "soft";
    }

    @Override
    public List<String> present() {
        return List.of(DEVICE);
    }

    @Override
    public Availability probe(Set<String> except) {
        String system = System.getProperty("os.name", "unknown");
        if (!system.equals("Linux")) {
            return new Availability.Unavailable(
                    Reason.NO_LIBRARY,
                    "the soft provider uses the system calls of Linux, and this is " + system,
                    "run it on Linux");
        }
        try {
            // The first native call of this module: it throws if the JVM denies native access.
            NativeThread.id();
        } catch (IllegalCallerException | ExceptionInInitializerError | NoClassDefFoundError e) {
            return new Availability.Unavailable(
                    Reason.NATIVE_ACCESS_DENIED,
                    "this JVM denies native access",
                    "start java with --enable-native-access=ALL-UNNAMED");
        }
        return Libc.missing().isEmpty()
                ? new Availability.Available(List.of(DEVICE))
                : new Availability.Unavailable(
                        Reason.MISSING_SYMBOL,
                        "the C library has no " + String.join(", no ", Libc.missing()),
                        "use glibc 2.30 or newer");
    }

    @Override
    public Device open(String device) {
        if (!device.equals(DEVICE)) {
            throw new VerbsException("open " + device + ": ENODEV; the soft provider has one device, " + DEVICE);
        }
        if (probe() instanceof Availability.Unavailable unavailable) {
            throw new VerbsException("open " + device + ": " + unavailable);
        }
        if (options.encryption().required()
                && TlsLibrary.load(options.encryption().library()) instanceof LibSsl.Loading.Failed failed) {
            throw new VerbsException("open " + device + ": its connections must be encrypted, and " + failed);
        }
        return new SoftDevice(new SoftContext(device, options, connection -> refusals.refused(connection)));
    }
}
