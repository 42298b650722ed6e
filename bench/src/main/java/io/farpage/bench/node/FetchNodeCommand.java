package io.farpage.bench.node;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code page-bench fetch-node}: started by {@code page-bench fetch}, not by people. */
@Command(name = "fetch-node", hidden = true, description = "Obeys the lines that page-bench fetch writes to it.")
public final class FetchNodeCommand implements Callable<Integer> {
    private static final int FAILED = 1;

    @Parameters(paramLabel = "SETTINGS", description = "JSON")
    private String settings = "";

    @Override
    public Integer call() throws InterruptedException, IOException {
        // Standard output is for answers alone: whatever else is printed goes to the log.
        PrintStream answers = System.out;
        System.setOut(System.err);
        Optional<NodeSettings> parsed = Lines.settings(settings);
        if (parsed.isEmpty()) {
            System.err.println(
                    "page-bench: fetch-node is started by page-bench fetch, with settings that it understands");
            return FAILED;
        }
        try (FetchNode node = FetchNode.open(parsed.get());
                BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            say(answers, node.ready());
            for (String line = orders.readLine(); line != null; line = orders.readLine()) {
                Optional<NodeCommand> order = Lines.order(line);
                if (order.isEmpty()) {
                    throw new NodeException("'" + line + "' is not an order");
                }
                if (order.get() instanceof NodeCommand.Quit) {
                    return 0;
                }
                say(answers, node.carryOut(order.get()));
            }
            return 0;
        } catch (NodeException e) {
            say(answers, new Answer.Failed(String.valueOf(e.getMessage())));
            return FAILED;
        }
    }

    private static void say(PrintStream answers, Answer answer) {
        answers.println(Lines.of(answer));
        answers.flush();
    }
}
