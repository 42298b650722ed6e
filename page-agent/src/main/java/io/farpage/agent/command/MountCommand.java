package io.farpage.agent.command;

import io.farpage.agent.control.mount.Mounter;
import io.farpage.agent.control.socket.SocketAccess;
import io.farpage.agent.node.Doors;
import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.supervise.Supervision;
import io.farpage.tls.TlsException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code page-agent mount}: until SIGTERM. */
@Command(
        name = "mount",
        mixinStandardHelpOptions = true,
        description = {
            "Show the snapshots of the cluster as read-only files, until SIGTERM. A VMM that maps such a file privately"
                    + " begins with the snapshot's memory; pages come from their homes when they are touched, once for"
                    + " all VMMs of this host, which share them until they write to them.",
            "",
            "Run it as a service of its own, as root: it mounts a file system (FUSE) and passes it to the agent of this"
                    + " node, and to the next one when that ends. While there is no agent, reads wait."
        })
public final class MountCommand implements Callable<Integer> {
    private static final String DEFAULT_MODE = "0440";
    private static final int KIB = 1024;
    private static final int MAX_READAHEAD = 1024;

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @Mixin
    private final ConfigOptions configuration = new ConfigOptions();

    @Option(
            names = "--directory",
            required = true,
            paramLabel = "DIR",
            description = "Directory of the files, such as /run/farpage-snapshots; made if it is missing")
    private Path directory = Path.of("");

    @Option(
            names = "--mode",
            defaultValue = DEFAULT_MODE,
            paramLabel = "MODE",
            description = "Permissions of the files (default: ${DEFAULT-VALUE})")
    private String mode = DEFAULT_MODE;

    @Option(
            names = "--owner",
            paramLabel = "USER:GROUP",
            description =
                    "Owner of the directory and of the files, as USER, USER:GROUP or :GROUP, such as :kvm; those of"
                            + " the directory if left out")
    private @Nullable String owner;

    @Option(
            names = "--readahead",
            defaultValue = "128",
            paramLabel = "KIB",
            description =
                    "KiB around a page that is touched which the kernel reads with it, 0 to 1024; 0 suits VMMs that"
                            + " touch pages all over their memory (default: ${DEFAULT-VALUE})")
    private int readahead;

    @Override
    public Integer call() {
        try {
            Config config = configuration.load();
            Path socket = Doors.mountSocket(config, Doors.nodeOf(config));
            SocketAccess access = SocketAccess.of("--owner", permissions(), Optional.ofNullable(owner));
            Mounter mounter = Mounter.mount(directory, socket, access, readaheadBytes());
            return serve(mounter, socket);
        } catch (ConfigException | TlsException | IOException | IllegalArgumentException e) {
            spec.commandLine().getErr().println("page-agent: " + e.getMessage());
            return 1;
        }
    }

    private int permissions() {
        if (!mode.matches("0?[0-7]{3}")) {
            throw new ParameterException(
                    spec.commandLine(), "--mode: '%s' is not three octal digits, such as 0440".formatted(mode));
        }
        return Integer.parseInt(mode, 8);
    }

    private int readaheadBytes() {
        if (readahead < 0 || readahead > MAX_READAHEAD) {
            throw new ParameterException(
                    spec.commandLine(), "--readahead: %d is not from 0 to %d KiB".formatted(readahead, MAX_READAHEAD));
        }
        return readahead * KIB;
    }

    private int serve(Mounter mounter, Path socket) {
        // It has no watchdog: processes that read would wait for good if it was killed for being slow.
        Supervision supervision = Supervision.begin(System.getenv(), Optional::empty);
        Thread serving = Thread.currentThread();
        Runtime.getRuntime()
                .addShutdownHook(new Thread(
                        () -> {
                            supervision.stopping();
                            mounter.close();
                            KeeperCommands.join(serving);
                        },
                        "stop"));
        spec.commandLine().getOut().println("page-agent mount: waiting for the agent at " + socket);
        Mounter.End end = mounter.run(() -> {
            spec.commandLine().getOut().println("page-agent mount: snapshots are files in " + mounter.directory());
            supervision.ready("serving " + mounter.directory());
        });
        if (end == Mounter.End.UNMOUNTED) {
            spec.commandLine().getErr().println("page-agent: " + mounter.directory() + " was unmounted");
            return 1;
        }
        return 0;
    }
}
