package io.farpage.agent.command;

import io.farpage.agent.control.keeper.KeeperState;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Optional;

/** The handover from an agent to its successor, and what becomes of the successor if that fails. One thread. */
final class Upgrade {
    static final Duration PAUSE = Duration.ofMillis(5);

    private final Node node;
    private final Duration deadline;
    private final PrintWriter out;

    /** Nothing has changed; the message says why. */
    static final class UpgradeException extends Exception {
        private static final long serialVersionUID = 1L;

        UpgradeException(String message) {
            super(message);
        }
    }

    /** The processes of a node. */
    interface Node {
        /** What the keeper says of itself. */
        KeeperState look() throws IOException;

        /**
         * Has the agent hand over to its standby.
         *
         * @throws UpgradeException if it refuses
         */
        void requestHandover() throws UpgradeException, InterruptedException;
    }

    /**
     * An upgrade of a node.
     *
     * @param deadline how long the successor may take to become warm
     */
    Upgrade(Node node, Duration deadline, PrintWriter out) {
        this.node = node;
        this.deadline = deadline;
        this.out = out;
    }

    /**
     * Makes the agent hand over. A successor that was started is ended if this fails, but only while another process is
     * the agent: that one may be killed at any moment, and then the successor has its guests.
     *
     * @param before what the keeper said before the successor was started
     * @param started the successor; empty if it is the standby that waits
     * @return the successor's process
     */
    int begin(KeeperState before, Optional<Process> started)
            throws UpgradeException, IOException, InterruptedException {
        boolean begun = false;
        try {
            int successor = started.isPresent() ? awaitWarm(started.get()) : before.standby();
            if (!isAgent(successor)) {
                out.printf("process %d is warm; process %d hands over%n", successor, before.agent());
                request(successor);
            }
            begun = true;
            return successor;
        } finally {
            if (!begun) {
                started.filter(one -> isNeedless(one.pid())).ifPresent(Process::destroyForcibly);
            }
        }
    }

    /** A refusal is that of the successor if it has become the agent meanwhile. */
    private void request(int successor) throws UpgradeException, IOException, InterruptedException {
        try {
            node.requestHandover();
        } catch (UpgradeException e) {
            if (!isAgent(successor)) {
                throw e;
            }
        }
    }

    private boolean isAgent(int process) throws IOException {
        return node.look().agent() == process;
    }

    /** Whether another process is known to be the agent. */
    private boolean isNeedless(long successor) {
        try {
            int agent = node.look().agent();
            return agent != 0 && agent != successor;
        } catch (IOException e) {
            return false;
        }
    }

    private int awaitWarm(Process successor) throws UpgradeException, IOException, InterruptedException {
        long began = System.nanoTime();
        while (System.nanoTime() - began < deadline.toNanos()) {
            if (!successor.isAlive()) {
                throw new UpgradeException("the successor, process %d, has ended with exit code %d; its output says why"
                        .formatted(successor.pid(), successor.exitValue()));
            }
            KeeperState now = node.look();
            if (now.standby() == successor.pid() || now.agent() == successor.pid()) {
                return Math.toIntExact(successor.pid());
            }
            Thread.sleep(PAUSE);
        }
        throw new UpgradeException(
                "the successor, process %d, was not warm within %s and was ended; raise --deadline, or see its output"
                        .formatted(successor.pid(), deadline));
    }
}
