package io.farpage.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Command;

@Tag("portable")
class SubcommandsTest {
    private static final List<Class<?>> COMMANDS = List.of(Run.class, Status.class);

    @Command(name = "program")
    static final class Program {}

    @Command(name = "run")
    static final class Run {}

    @Command(name = "status")
    static final class Status {}

    private final CommandLine program = new CommandLine(new Program());

    private Set<String> added() {
        return program.getSubcommands().keySet();
    }

    @Test
    void shouldAddOnlyTheCommandThatIsCalled() {
        assertFalse(Subcommands.add(program, COMMANDS, "status", "--help", "run"));
        assertEquals(Set.of("status"), added());
    }

    @ParameterizedTest
    @ValueSource(strings = {"statu", "--help", "-V -h", "--config status", ""})
    void shouldAddAllWhenTheFirstArgumentIsNoneOfThem(String arguments) {
        assertTrue(Subcommands.add(program, COMMANDS, arguments.split(" ")));
        assertEquals(Set.of("run", "status"), added());
    }

    @Test
    void shouldAddAllWithoutArguments() {
        assertTrue(Subcommands.add(program, COMMANDS));
        assertEquals(Set.of("run", "status"), added());
    }

    @Test
    void shouldRefuseAClassThatIsNoCommand() {
        assertThrows(IllegalArgumentException.class, () -> Subcommands.add(program, List.of(String.class), "status"));
    }
}
