package io.farpage.agent.command;

import io.farpage.agent.client.AgentClient;
import io.farpage.agent.client.AgentTarget;
import io.farpage.agent.client.NoAgentException;
import io.farpage.agent.rest.PageOperations;
import io.farpage.progress.Progress;
import io.farpage.progress.ProgressOption;
import io.farpage.progress.Unit;
import io.farpage.rest.Operation.Target;
import io.farpage.tls.TlsException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
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
    private static final int REFUSED = 1;
    private static final int BLOCK = 4096;
    private static final Duration TIMEOUT = Duration.ofHours(1);

    private ImageCommands() {}

    private static int refuse(CommandSpec spec, String why) {
        spec.commandLine().getErr().println("page-agent: " + why);
        return REFUSED;
    }

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
            Path part = file.resolveSibling(file.getFileName() + ".part");
            Target<?, ?> image =
                    PageOperations.SAVE.at(target.name()).with("force", force ? Optional.of(true) : Optional.empty());
            try (AgentClient client = target.caller().open(TIMEOUT)) {
                try (AgentClient.Answer answer = client.send(image, PageOperations.BYTES, AgentClient.Bytes.NONE)) {
                    if (answer.status() != 200) {
                        return refuse(
                                spec,
                                AgentTarget.detail(
                                        answer.status(), answer.body().readAllBytes()));
                    }
                    save(answer, part);
                }
                return 0;
            } catch (IOException e) {
                delete(part);
                return refuse(spec, "space " + target.name() + " is not saved: " + e.getMessage());
            } catch (NoAgentException | TlsException e) {
                return refuse(spec, String.valueOf(e.getMessage()));
            }
        }

        private void save(AgentClient.Answer answer, Path part) throws IOException {
            try (Progress progress = progressOption.start("save " + target.name(), Unit.BYTES)) {
                answer.header("Content-Length").map(Long::valueOf).ifPresent(progress::total);
                write(answer.body(), part, progress);
                Files.move(part, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
                progress.finish();
            }
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

        private void delete(Path part) {
            try {
                Files.deleteIfExists(part);
            } catch (IOException e) {
                spec.commandLine().getErr().println("page-agent: " + part + " is not removed: " + e);
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
            try (AgentClient client = target.caller().open(TIMEOUT)) {
                return load(client).map(why -> refuse(spec, why)).orElse(0);
            } catch (IOException e) {
                return refuse(spec, "space " + target.name() + " is not loaded: " + e);
            } catch (NoAgentException | TlsException e) {
                return refuse(spec, String.valueOf(e.getMessage()));
            }
        }

        /** Loads the file. Returns why the agent has refused it, if it has. */
        private Optional<String> load(AgentClient client) throws IOException, InterruptedException {
            long size = Files.size(file);
            try (Progress progress = progressOption.start("load " + target.name(), Unit.BYTES)) {
                progress.total(size);
                try (AgentClient.Answer answer = client.send(
                        PageOperations.LOAD.at(target.name()),
                        PageOperations.BYTES,
                        new AgentClient.Content(file, progress::advance))) {
                    byte[] content = answer.body().readAllBytes();
                    if (answer.status() / 100 != 2) {
                        return Optional.of(AgentTarget.detail(answer.status(), content));
                    }
                    progress.done(size);
                    progress.finish();
                    return Optional.empty();
                }
            }
        }
    }
}
