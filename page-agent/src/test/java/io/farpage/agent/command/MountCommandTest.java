package io.farpage.agent.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class MountCommandTest {
    @TempDir
    private Path directory = Path.of("");

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--mode|888|--mode: '888' is not three octal digits, such as 0440|2",
                "--mode|04440|--mode: '04440' is not three octal digits|2",
                "--readahead|-1|--readahead: -1 is not from 0 to 1024 KiB|2",
                "--readahead|4194305|--readahead: 4194305 is not from 0 to 1024 KiB|2",
                "--owner|:missing-group|--owner: ':missing-group' names a user or group that this host does not know|1",
                "--set|node.id=UPPER|node.id: 'UPPER' from command line is not valid|1"
            })
    void shouldRefuseWhatIsNotValidAndMakeNothing(String option, String value, String refusal, int code) {
        Path snapshots = directory.resolve("snapshots");
        StringWriter err = new StringWriter();
        int exitCode = new CommandLine(new MountCommand())
                .setOut(new PrintWriter(new StringWriter()))
                .setErr(new PrintWriter(err))
                .execute("--set", "api.socket=" + directory, "--directory", snapshots.toString(), option, value);
        assertEquals(code, exitCode, err::toString);
        assertTrue(err.toString().contains(refusal), err::toString);
        assertFalse(Files.exists(snapshots));
    }
}
