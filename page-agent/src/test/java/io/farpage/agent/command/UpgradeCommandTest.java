package io.farpage.agent.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

class UpgradeCommandTest {
    @Test
    void shouldNameTheKeyWhenAnAgentWithoutAKeeperIsToBeUpgraded() {
        StringWriter said = new StringWriter();
        int code = new CommandLine(new UpgradeCommand())
                .setErr(new PrintWriter(said))
                .execute("--set", "node.id=a");
        assertEquals(1, code);
        assertTrue(said.toString().contains("keeper.mode is off"), said.toString());
        assertTrue(said.toString().contains("set keeper.mode to process"), said.toString());
        assertTrue(said.toString().contains("nothing has changed"), said.toString());
    }
}
