package io.farpage.bench.footprint;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.Providers;
import io.farpage.agent.node.PageAgent;
import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.guest.command.CommandException;
import io.farpage.pool.PoolException;
import io.farpage.verbs.VerbsException;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code page-bench footprint-peers}: started by {@code page-bench footprint}, not by people. */
@Command(
        name = "footprint-peers",
        hidden = true,
        description = "Runs agents of several nodes in one JVM until the end of standard input.")
public final class FootprintPeersCommand implements Callable<Integer> {
    @Option(names = "--nodes", split = ",", required = true, description = "Their ids")
    private List<String> nodes = List.of();

    @Option(names = "--set", paramLabel = "KEY=VALUE", description = "A setting of all of them")
    private Map<String, String> settings = Map.of();

    @Option(names = "--sockets", required = true, description = "Where each has its socket, without its id")
    private String sockets = "";

    @Override
    public Integer call() throws IOException {
        PrintStream answers = System.out;
        System.setOut(System.err);
        List<PageAgent> agents = new ArrayList<>();
        try {
            for (String node : nodes) {
                agents.add(open(node));
            }
            answers.println("ready");
            answers.flush();
            System.in.transferTo(PrintStream.nullOutputStream());
            return 0;
        } finally {
            agents.reversed().forEach(PageAgent::close);
        }
    }

    private PageAgent open(String node) {
        Map<String, String> own = new LinkedHashMap<>(settings);
        own.put("node.id", node);
        own.put("api.socket", sockets + node + ".sock");
        try {
            Config config = AgentKeys.SCHEMA.load(Optional.empty(), Map.of(), own);
            return PageAgent.open(config, Providers.of(config), _ -> {});
        } catch (ConfigException | PoolException | VerbsException | IllegalArgumentException e) {
            throw new CommandException("node '%s': %s".formatted(node, e.getMessage()), e);
        }
    }
}
