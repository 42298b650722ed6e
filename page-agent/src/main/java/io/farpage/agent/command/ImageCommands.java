package io.farpage.agent.command;

import io.farpage.agent.client.AgentTarget;
import io.farpage.agent.rest.PageOperations;
import io.farpage.progress.Progress;
import io.farpage.progress.ProgressOption;
import io.farpage.rest.Operation.Target;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * {@code page-agent save} and {@code load}: the whole memory of a space, to and from a file, through a running agent.
 */
public final class ImageCommands {
    private static final int BLOCK = 4096;

    private ImageCommands() {}

    /** Space to file. */
    @Command(
            name = "save",
            mixinStandardHelpOptions = true,
            description = "Save all memory of a space, which no guest uses, to a file. Zeros become holes.")
    public static final class Save implements Callable<Integer> {
        @Spec
        @SuppressWarnings("NullAway.Init") // set by picocli
        private CommandSpec spec;

        @ArgGroup(exclusive = false, multiplicity = "1")
        private final AgentTarget target = new AgentTarget();

        @Option(
                names = "--file",
                required = true,
                description = "File to write; an existing file is replaced after all memory was read")
        private Path file = Path.of("");

        @Option(names = "--force", description = "Also save a torn space, which holds a mix of older and newer pages")
        private boolean force;

        @Mixin
        private final ProgressOption progressOption = new ProgressOption();

        @Override
        public Integer call() throws InterruptedException {
            Target<?, ?> image =
                    PageOperations.SAVE.at(target.name()).with("force", force ? Optional.of(true) : Optional.empty());
            return new FileTransfer(target, progressOption, spec.commandLine().getErr())
                    .receive(image, "save", PageOperations.BYTES, file, Save::write);
        }

        private static void write(InputStream from, Path to, Progress progress) throws IOException {
            byte[] zeros = new byte[BLOCK];
            long length = 0;
            try (FileChannel channel = FileChannel.open(
                    to, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
                for (byte[] block = from.readNBytes(BLOCK); block.length > 0; block = from.readNBytes(BLOCK)) {
                    length += block.length;
                    boolean last = block.length < BLOCK;
                    if (last || !Arrays.equals(block, zeros)) {
                        writeAll(channel, ByteBuffer.wrap(block), length - block.length);
                    }
                    progress.done(length);
                }
                if (length > 0 && channel.size() < length) {
                    writeAll(channel, ByteBuffer.allocate(1), length - 1);
                }
                channel.force(true);
            }
        }

        private static void writeAll(FileChannel to, ByteBuffer bytes, long position) throws IOException {
            long at = position;
            while (bytes.hasRemaining()) {
                at += to.write(bytes, at);
            }
        }
    }

    /** File to space. */
    @Command(
            name = "load",
            mixinStandardHelpOptions = true,
            description = "Load all memory of a space, which no guest uses, from a file of the same size.")
    public static final class Load implements Callable<Integer> {
        @Spec
        @SuppressWarnings("NullAway.Init") // set by picocli
        private CommandSpec spec;

        @ArgGroup(exclusive = false, multiplicity = "1")
        private final AgentTarget target = new AgentTarget();

        @Option(names = "--file", required = true, description = "File to read")
        private Path file = Path.of("");

        @Mixin
        private final ProgressOption progressOption = new ProgressOption();

        @Override
        public Integer call() throws InterruptedException {
            return new FileTransfer(target, progressOption, spec.commandLine().getErr())
                    .send(PageOperations.LOAD.at(target.name()), "load", PageOperations.BYTES, file);
        }
    }
}
