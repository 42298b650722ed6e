package io.farpage.agent.command;

import io.farpage.agent.command.Upgrade.UpgradeException;
import io.farpage.agent.control.keeper.KeeperState;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.time.Duration;
import java.util.Optional;

/** Runs {@code page-agent upgrade} without a command line. */
public final class UpgradeRun {
    private static final Duration DEADLINE = Duration.ofSeconds(20);

    private UpgradeRun() {}

    /** The processes of a node. */
    public interface Node {
        KeeperState look() throws IOException;

        /** Requests a handover from the agent. Returns false if it refuses. */
        boolean handOver();
    }

    /** Makes an agent hand over to a process that was started, which is ended if that fails. */
    public static void begin(Node node, Process successor) throws IOException, InterruptedException {
        Upgrade.Node asked = new Upgrade.Node() {
            @Override
            public KeeperState look() throws IOException {
                return node.look();
            }

            @Override
            public void requestHandover() throws UpgradeException {
                if (!node.handOver()) {
                    throw new UpgradeException("it refuses");
                }
            }
        };
        try {
            var _ = new Upgrade(asked, DEADLINE, new PrintWriter(Writer.nullWriter()))
                    .begin(node.look(), Optional.of(successor));
        } catch (UpgradeException e) {
            // The process is ended, unless it is the agent.
        }
    }
}
