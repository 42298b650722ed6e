package io.farpage.agent.doctor;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.control.device.TransportMode;
import io.farpage.config.Config;
import io.farpage.config.HostPort;
import io.farpage.verbs.VerbsProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/** All checks of a host against a configuration. */
public final class Doctor {
    private final Config config;
    private final Tree tree;
    private final VerbsProvider rdma;
    private final Supplier<UserfaultfdProbe.Outcome> userfaultfd;
    private final Commands commands;

    Doctor(
            Config config,
            Tree tree,
            VerbsProvider rdma,
            Supplier<UserfaultfdProbe.Outcome> userfaultfd,
            Commands commands) {
        this.config = config;
        this.tree = tree;
        this.rdma = rdma;
        this.userfaultfd = userfaultfd;
        this.commands = commands;
    }

    /**
     * Makes one; nothing is looked at yet.
     *
     * @param tree where files are read
     * @param rdma the provider that an agent with this configuration would use
     */
    public static Doctor of(Config config, Tree tree, VerbsProvider rdma) {
        return new Doctor(config, tree, rdma, UserfaultfdProbe::open, Commands::run);
    }

    /** Runs every check, one after the other; takes a few seconds at most. */
    public Report examine() {
        List<Line> lines = new ArrayList<>();
        for (Check check : checks()) {
            lines.addAll(check.run());
        }
        return Report.of(lines);
    }

    private List<Check> checks() {
        TransportMode mode = config.get(AgentKeys.TRANSPORT_MODE);
        PoolNeed pool = PoolNeed.of(config);
        List<RdmaDevice> devices = RdmaDevices.read(tree);
        Set<String> wanted = Set.copyOf(config.get(AgentKeys.RDMA_DEVICE));
        List<RdmaDevice> used = mode == TransportMode.TCP
                ? List.of()
                : devices.stream()
                        .filter(device -> wanted.isEmpty() || wanted.contains(device.name()))
                        .toList();
        List<Check> checks = new ArrayList<>();
        if (mode == TransportMode.TCP) {
            checks.add(() -> List.of(Line.ok("rdma.verbs", "libibverbs", "not looked at: transport.mode is tcp")));
        } else {
            Verbs verbs = Verbs.probe(rdma);
            checks.add(new VerbsCheck(tree, mode, verbs.availability(), devices, used, pool));
            checks.add(new DeviceCheck(tree, devices, wanted, pool));
            checks.add(new PortCheck(used, verbs));
            checks.add(new GidCheck(used, verbs, config.get(AgentKeys.RDMA_GID_INDEX)));
            checks.add(new ModulesCheck(tree, used));
            checks.add(new DeviceNodesCheck(tree, used));
            checks.add(new RoceCheck(
                    tree, used, config.get(AgentKeys.RDMA_MTU), config.get(AgentKeys.RDMA_TRAFFIC_CLASS), commands));
            checks.add(new SriovCheck(tree, used));
            checks.add(new GpuDirectCheck(tree));
        }
        checks.add(new MemlockCheck(tree, mode, pool, !used.isEmpty()));
        checks.add(new HugepagesCheck(tree, pool));
        checks.add(new MemoryPolicyCheck(tree, pool));
        checks.add(new ControlGroupCheck(tree, pool, used));
        checks.add(new UserfaultfdCheck(tree, userfaultfd));
        checks.add(new KvmCheck(tree));
        checks.add(new IommuCheck(tree, used));
        checks.add(new CpuCheck(tree));
        checks.add(new RealTimeCheck(tree, config.get(AgentKeys.SHARD_IDLE), config.get(AgentKeys.SHARD_PRIORITY)));
        checks.add(new ListenCheck("api.listen", config.get(AgentKeys.API_LISTEN)));
        checks.add(new ListenCheck(
                "tcp.port", new HostPort(config.get(AgentKeys.TCP_ADDRESS), config.get(AgentKeys.TCP_PORT))));
        checks.add(
                new CoordinatorCheck(config.get(AgentKeys.COORDINATOR_URL), config.isSet(AgentKeys.COORDINATOR_URL)));
        return checks;
    }
}
