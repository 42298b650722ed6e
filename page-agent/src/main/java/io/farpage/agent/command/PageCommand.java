package io.farpage.agent.command;

import io.farpage.agent.client.AgentTarget;
import io.farpage.agent.rest.PageOperations;
import io.farpage.rest.Operation;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code page-agent page}: single pages, through the REST API of a running agent. */
@Command(
        name = "page",
        mixinStandardHelpOptions = true,
        description = "Put, get or delete one page of a space, through a running agent.",
        subcommands = {PageCommand.Put.class, PageCommand.Get.class, PageCommand.Delete.class})
public final class PageCommand implements Callable<Integer> {
    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @Override
    public Integer call() {
        spec.commandLine()
                .getErr()
                .println("page-agent page: give a command: put, get or delete (page-agent page get --help)");
        return 2;
    }

    /** The page and the agent. */
    static final class Target {
        @ArgGroup(exclusive = false, multiplicity = "1")
        private final AgentTarget agent = new AgentTarget();

        @Option(
                names = "--page",
                required = true,
                description = "Number of the page, decimal or hexadecimal such as 0x1f")
        private String page = "";

        /** Sends a request for the page. Prints the problem and gives null if it was refused. */
        byte @Nullable [] send(Operation<Void, Void> operation, byte[] body) throws InterruptedException {
            return agent.send(operation.at(agent.name(), page), PageOperations.BYTES, body);
        }
    }

    /** Writes a page. */
    @Command(
            name = "put",
            mixinStandardHelpOptions = true,
            description = "Write a page. Data shorter than a page is padded with zeros.")
    static final class Put implements Callable<Integer> {
        @Spec
        @SuppressWarnings("NullAway.Init") // set by picocli
        private CommandSpec spec;

        @ArgGroup(exclusive = false, multiplicity = "1")
        private final Target target = new Target();

        @Option(
                names = "--page-size",
                defaultValue = "4096",
                description = "Bytes of a page (default: ${DEFAULT-VALUE})")
        private int pageSize;

        @Option(
                names = "--in",
                paramLabel = "FILE",
                description = "File to read the data from (default: standard input)")
        private @Nullable Path in;

        @Override
        public Integer call() throws IOException, InterruptedException {
            byte[] data;
            try (InputStream from = in == null ? System.in : Files.newInputStream(in)) {
                data = from.readNBytes(pageSize + 1);
            }
            if (data.length > pageSize) {
                spec.commandLine()
                        .getErr()
                        .println("page-agent: the data is longer than a page of " + pageSize + " bytes");
                return 1;
            }
            return target.send(PageOperations.WRITE, Arrays.copyOf(data, pageSize)) == null ? 1 : 0;
        }
    }

    /** Reads a page. */
    @Command(name = "get", mixinStandardHelpOptions = true, description = "Read a page.")
    static final class Get implements Callable<Integer> {
        @ArgGroup(exclusive = false, multiplicity = "1")
        private final Target target = new Target();

        @Option(
                names = "--out",
                paramLabel = "FILE",
                description = "File to write the page to (default: standard output)")
        private @Nullable Path out;

        @Override
        public Integer call() throws IOException, InterruptedException {
            byte[] data = target.send(PageOperations.READ, new byte[0]);
            if (data == null) {
                return 1;
            }
            if (out != null) {
                Files.write(out, data);
            } else {
                OutputStream to = System.out;
                to.write(data);
                to.flush();
            }
            return 0;
        }
    }

    /** Zeroes a page. */
    @Command(name = "delete", mixinStandardHelpOptions = true, description = "Make a page zeros again.")
    static final class Delete implements Callable<Integer> {
        @ArgGroup(exclusive = false, multiplicity = "1")
        private final Target target = new Target();

        @Override
        public Integer call() throws IOException, InterruptedException {
            return target.send(PageOperations.DISCARD, new byte[0]) == null ? 1 : 0;
        }
    }
}
