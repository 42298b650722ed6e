package io.farpage.agent.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.command.Upgrade.UpgradeException;
import io.farpage.agent.control.keeper.KeeperState;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class UpgradeTest {
    private static final int AGENT = 7;
    private static final int SUCCESSOR = 8;
    private static final KeeperState BEFORE = new KeeperState(AGENT, 0);

    private KeeperState now = BEFORE;
    private final Successor successor = new Successor();

    private static final class Successor extends Process {
        private boolean ended;

        @Override
        public long pid() {
            return SUCCESSOR;
        }

        @Override
        public boolean isAlive() {
            return !ended;
        }

        @Override
        public void destroy() {
            ended = true;
        }

        @Override
        public int exitValue() {
            return 0;
        }

        @Override
        public int waitFor() {
            return 0;
        }

        @Override
        public OutputStream getOutputStream() {
            return OutputStream.nullOutputStream();
        }

        @Override
        public InputStream getInputStream() {
            return InputStream.nullInputStream();
        }

        @Override
        public InputStream getErrorStream() {
            return InputStream.nullInputStream();
        }
    }

    /** A node whose agent refuses after something has happened. */
    private Upgrade refusedAfter(Runnable happens) {
        Upgrade.Node node = new Upgrade.Node() {
            @Override
            public KeeperState look() {
                return now;
            }

            @Override
            public void requestHandover() throws UpgradeException {
                happens.run();
                throw new UpgradeException("refused");
            }
        };
        return new Upgrade(node, Duration.ofMillis(50), new PrintWriter(new StringWriter()));
    }

    private int begin(Upgrade upgrade) throws Exception {
        return upgrade.begin(BEFORE, Optional.of(successor));
    }

    @Test
    void shouldEndSuccessorWhenTheAgentRefuses() {
        now = new KeeperState(AGENT, SUCCESSOR);

        assertThrows(UpgradeException.class, () -> begin(refusedAfter(() -> {})));
        assertTrue(successor.ended);
    }

    @Test
    void shouldEndSuccessorThatDoesNotBecomeWarm() {
        assertThrows(UpgradeException.class, () -> begin(refusedAfter(() -> {})));
        assertTrue(successor.ended);
    }

    /** An agent that is killed before its successor is a standby leaves it the guests at once. */
    @Test
    void shouldNotEndSuccessorThatIsTheAgentBeforeItIsAStandby() throws Exception {
        now = new KeeperState(SUCCESSOR, 0);

        assertEquals(SUCCESSOR, begin(refusedAfter(() -> {})));
        assertFalse(successor.ended);
    }

    /** The request reaches the successor then, which has no standby. */
    @Test
    void shouldNotEndSuccessorThatBecomesTheAgentBeforeTheRequest() throws Exception {
        now = new KeeperState(AGENT, SUCCESSOR);

        assertEquals(SUCCESSOR, begin(refusedAfter(() -> now = new KeeperState(SUCCESSOR, 0))));
        assertFalse(successor.ended);
    }

    @Test
    void shouldNotEndSuccessorWhenTheAgentIsKilledMeanwhile() {
        now = new KeeperState(AGENT, SUCCESSOR);

        assertThrows(UpgradeException.class, () -> begin(refusedAfter(() -> now = new KeeperState(0, SUCCESSOR))));
        assertFalse(successor.ended);
    }
}
