package io.farpage.verbs.contract;

import io.farpage.verbs.Device;
import io.farpage.verbs.Gid;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.VerbsProvider;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** Side B in a process of its own: it exports a filled page and serves until its input ends or it is killed. */
final class PeerProcess implements AutoCloseable {
    static final int LENGTH = 4096;
    static final int SEED = 42;

    private final Process process;
    private final BufferedReader out;
    private final Writer in;
    private final QpEndpoint endpoint;
    private final long address;
    private final int rkey;

    private PeerProcess(Process process) throws IOException {
        this.process = process;
        this.out = process.inputReader(StandardCharsets.UTF_8);
        this.in = process.outputWriter(StandardCharsets.UTF_8);
        String line = out.readLine();
        if (line == null) {
            throw new IOException("the peer process ended before it told its endpoint");
        }
        String[] words = line.split(" ");
        this.endpoint = parse(words);
        this.address = Long.parseLong(words[4]);
        this.rkey = Integer.parseInt(words[5]);
    }

    static PeerProcess start(VerbsFixture fixture) throws IOException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "@" + Path.of(System.getProperty("farpage.root"), "bin", "java-flags"),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        PeerProcess.class.getName(),
                        fixture.provider().getName(),
                        fixture.childDevice())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        return new PeerProcess(process);
    }

    /** Takes {@code queuePair} from RESET to RTR and the process's to RTS. */
    void connect(QueuePair queuePair) throws IOException {
        in.write(format(queuePair.endpoint()) + "\n");
        in.flush();
        if (!"ready".equals(out.readLine())) {
            throw new IOException("the peer process did not get ready");
        }
        queuePair.modifyToInit();
        queuePair.modifyToRtr(endpoint);
    }

    void read(QueuePair queuePair, Side into, long wrId) {
        queuePair.prepareRead(wrId, into.address(0), LENGTH, into.region.lkey(), address, rkey, SendFlag.SIGNALED);
        queuePair.postSend();
    }

    /** Kills the process without giving it a chance to say so. */
    void kill() {
        process.destroyForcibly();
        try {
            if (!process.waitFor(20, TimeUnit.SECONDS)) {
                throw new IllegalStateException("the peer process survived SIGKILL");
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        kill();
    }

    private static String format(QpEndpoint endpoint) {
        return endpoint.qpn() + " " + endpoint.lid() + " " + endpoint.gid() + " " + endpoint.psn();
    }

    private static QpEndpoint parse(String[] words) {
        return new QpEndpoint(
                Integer.parseInt(words[0]),
                Integer.parseInt(words[1]),
                Gid.parse(words[2]),
                Integer.parseInt(words[3]));
    }

    /** The process: arguments are the provider's class and the device's name. */
    public static void main(String[] args) throws IOException, ReflectiveOperationException {
        PrintStream stdout = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader stdin = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        VerbsProvider provider = Class.forName(args[0])
                .asSubclass(VerbsProvider.class)
                .getDeclaredConstructor()
                .newInstance();
        try (Device device = provider.open(args[1]);
                Side side = new Side(device)) {
            QueuePair queuePair = side.queuePair(Connected.OPTIONS);
            side.fill(0, LENGTH, SEED);
            stdout.println(format(queuePair.endpoint()) + " " + side.address(0) + " " + side.region.rkey());
            String line = stdin.readLine();
            if (line == null) {
                return;
            }
            queuePair.modifyToInit();
            queuePair.modifyToRtr(parse(line.split(" ")));
            queuePair.modifyToRts();
            stdout.println("ready");
            // Serving is the device's business; the end of the input is the parent's.
            while (stdin.readLine() != null) {}
        }
    }
}
