package io.farpage.agent.command;

import io.farpage.agent.client.AgentTarget;
import io.farpage.agent.rest.ArchiveOperations;
import io.farpage.agent.rest.PageOperations;
import io.farpage.progress.Progress;
import io.farpage.progress.ProgressOption;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code page-agent snapshot}: snapshots of guests that run, and in files, through the REST API of an agent. */
@Command(
        name = "snapshot",
        mixinStandardHelpOptions = true,
        description =
                "Make a snapshot of a guest that runs, keep the state of its VMM with it, save and load snapshots.",
        subcommands = {
            SnapshotCreateCommand.class,
            SnapshotCommand.State.class,
            SnapshotCommand.Save.class,
            SnapshotCommand.Load.class
        })
public final class SnapshotCommand implements Callable<Integer> {
    private static final int WRONG_USAGE = 2;

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @Override
    public Integer call() {
        spec.commandLine()
                .getErr()
                .println("page-agent snapshot: give a command: create, state, save or load"
                        + " (page-agent snapshot create --help)");
        return WRONG_USAGE;
    }

    /** Keeps the state of a VMM. */
    @Command(
            name = "state",
            mixinStandardHelpOptions = true,
            description = "Keep a file with a snapshot, in which the VMM of the machine has left its registers and"
                    + " devices. It becomes a snapshot of its own, named after this one with '.state' behind.")
    static final class State implements Callable<Integer> {
        @Spec
        @SuppressWarnings("NullAway.Init") // set by picocli
        private CommandSpec spec;

        @ArgGroup(exclusive = false, multiplicity = "1")
        private final AgentTarget target = new AgentTarget();

        @Option(names = "--file", required = true, description = "File to keep, 64 MiB at most")
        private Path file = Path.of("");

        @Mixin
        private final ProgressOption progressOption = new ProgressOption();

        @Override
        public Integer call() throws InterruptedException {
            return new FileTransfer(target, progressOption, spec.commandLine().getErr())
                    .send(
                            ArchiveOperations.KEEP_STATE.at(target.name()),
                            "keep the state of",
                            PageOperations.BYTES,
                            file);
        }
    }

    /** Snapshot to archive. */
    @Command(
            name = "save",
            mixinStandardHelpOptions = true,
            description = "Save a snapshot, and the state of its VMM, to a ZIP archive, compressed and with checksums.")
    static final class Save implements Callable<Integer> {
        private static final int BLOCK = 1 << 16;

        @Spec
        @SuppressWarnings("NullAway.Init") // set by picocli
        private CommandSpec spec;

        @ArgGroup(exclusive = false, multiplicity = "1")
        private final AgentTarget target = new AgentTarget();

        @Option(
                names = "--file",
                required = true,
                description = "File to write; an existing file is replaced when all of the snapshot is there")
        private Path file = Path.of("");

        @Mixin
        private final ProgressOption progressOption = new ProgressOption();

        @Override
        public Integer call() throws InterruptedException {
            return new FileTransfer(target, progressOption, spec.commandLine().getErr())
                    .receive(
                            ArchiveOperations.SAVE.at(target.name()), "save", ArchiveOperations.ZIP, file, Save::write);
        }

        private static void write(InputStream from, Path to, Progress progress) throws IOException {
            byte[] block = new byte[BLOCK];
            long length = 0;
            try (OutputStream out = Files.newOutputStream(to)) {
                for (int count = from.read(block); count >= 0; count = from.read(block)) {
                    out.write(block, 0, count);
                    length += count;
                    progress.done(length);
                }
            }
            try (FileChannel channel = FileChannel.open(to, StandardOpenOption.WRITE);
                    ZipFile whole = new ZipFile(to.toFile())) {
                channel.force(true);
                progress.done(whole.size() > 0 ? length : 0);
            } catch (ZipException e) {
                throw new IOException(
                        "the answer of the agent ends early, after %d bytes; its log tells why".formatted(length), e);
            }
        }
    }

    /** Archive to snapshot. */
    @Command(
            name = "load",
            mixinStandardHelpOptions = true,
            description = "Make a snapshot of what an archive has, under any name. If the archive is damaged or a home"
                    + " fails there is none.")
    static final class Load implements Callable<Integer> {
        @Spec
        @SuppressWarnings("NullAway.Init") // set by picocli
        private CommandSpec spec;

        @ArgGroup(exclusive = false, multiplicity = "1")
        private final AgentTarget target = new AgentTarget();

        @Option(names = "--file", required = true, description = "Archive to read")
        private Path file = Path.of("");

        @Option(
                names = "--home",
                paramLabel = "NODE",
                description = "Node to take the memory from; may be repeated (default: all nodes except this one)")
        private @Nullable List<String> homes;

        @Option(
                names = "--replicas",
                paramLabel = "COUNT",
                description = "Homes of each page, 1 to 3, in different failure domains (default: 1)")
        private @Nullable Integer replicas;

        @Option(
                names = "--nodes",
                paramLabel = "NODE",
                split = ",",
                description = "Nodes that may attach it (default: all)")
        private @Nullable List<String> nodes;

        @Mixin
        private final ProgressOption progressOption = new ProgressOption();

        @Override
        public Integer call() throws InterruptedException {
            return new FileTransfer(target, progressOption, spec.commandLine().getErr())
                    .send(
                            ArchiveOperations.LOAD
                                    .at(target.name())
                                    .with("homes", joined(homes))
                                    .with("replicas", Optional.ofNullable(replicas))
                                    .with("nodes", joined(nodes)),
                            "load",
                            ArchiveOperations.ZIP,
                            file);
        }

        private static Optional<String> joined(@Nullable List<String> each) {
            return Optional.ofNullable(each).map(all -> String.join(",", all));
        }
    }
}
