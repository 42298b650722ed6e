package io.farpage.config;

import java.util.LinkedHashMap;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Model.UsageMessageSpec;

/** The exit codes that all programs have alike, for their {@code --help}. */
public final class ExitCodes {

    private static final Map<String, String> COMMON = common();

    private ExitCodes() {}

    private static Map<String, String> common() {
        Map<String, String> codes = new LinkedHashMap<>();
        codes.put("0", "It was done.");
        codes.put("1", "It could not be done; standard error says why.");
        codes.put("2", "Wrong usage: an option or a value is not allowed.");
        return codes;
    }

    /** Adds them to the usage text of a command and of all below it, except where a command tells its own. */
    public static void describe(CommandLine command) {
        UsageMessageSpec usage = command.getCommandSpec().usageMessage();
        if (usage.exitCodeList().isEmpty()) {
            usage.exitCodeListHeading("Exit codes:%n").exitCodeList(COMMON);
        }
        command.getSubcommands().values().forEach(ExitCodes::describe);
    }
}
