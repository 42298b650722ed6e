package io.farpage.agent.doctor;

import static io.farpage.agent.doctor.Line.check;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.QueuePairMemory;
import io.farpage.agent.control.device.TransportMode;
import io.farpage.config.Config;
import io.farpage.config.HostPort;
import io.farpage.linux.uffd.Userfaultfd;
import io.farpage.verbs.VerbsProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.LongSupplier;

/** All checks of a host against a configuration. */
public final class Doctor {
    private final Config config;
    private final Tree tree;
    private final VerbsProvider rdma;
    private final LongSupplier userfaultfd;
    private final Commands commands;

    /**
     * @param userfaultfd opens one and returns its features; throws {@link io.farpage.linux.PosixException} if the
     *     kernel refuses
     */
    Doctor(Config config, Tree tree, VerbsProvider rdma, LongSupplier userfaultfd, Commands commands) {
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
        return new Doctor(config, tree, rdma, () -> userfaultfd(0), Commands::run);
    }

    /**
     * Opens a userfaultfd for a moment, as a guest's VMM does.
     *
     * @param features that it asks for, as {@link Userfaultfd#open} takes them
     * @return the finding if this user may not have one; empty otherwise
     */
    public static Optional<Line> userfaultfdRefusal(long features) {
        return HostChecks.userfaultfdRefusal(Tree.REAL, () -> userfaultfd(features));
    }

    private static long userfaultfd(long features) {
        try (Userfaultfd opened = Userfaultfd.open(features)) {
            return opened.features();
        }
    }

    /** Runs every check, one after the other; takes a few seconds at most. */
    public Report examine() {
        Host host = Host.examine(config, tree, rdma);
        Findings findings = new Findings(host);
        if (host.mode() == TransportMode.TCP) {
            findings.add(check("rdma.verbs", "libibverbs").ok("not looked at: transport.mode is tcp"));
        } else {
            findings.one(VerbsCheck::line)
                    .all(RdmaChecks::devices)
                    .all(RdmaChecks::ports)
                    .all(RdmaChecks::gids)
                    .all(RdmaChecks::modules)
                    .all(RdmaChecks::deviceNodes)
                    .all(facts -> RoceChecks.lines(facts, commands))
                    .all(RdmaChecks::virtualFunctions)
                    .one(HostChecks::gpuDirect);
        }
        return findings.one(MemoryChecks::memlock)
                .one(facts -> MemoryChecks.queuePairs(QueuePairMemory.of(facts.config())))
                .all(MemoryChecks::hugepages)
                .one(MemoryChecks::numaNode)
                .one(MemoryChecks::numaBalancing)
                .one(MemoryChecks::transparentHugepages)
                .one(MemoryChecks::swap)
                .all(MemoryChecks::controlGroups)
                .one(facts -> HostChecks.userfaultfd(facts.tree(), userfaultfd))
                .one(HostChecks::kvm)
                .all(HostChecks::iommu)
                .one(HostChecks::governor)
                .one(HostChecks::clock)
                .one(HostChecks::realTimePriority)
                .one(SealChecks::libcrypto)
                .one(LinkChecks::libssl)
                .all(_ -> config.get(AgentKeys.API_LISTEN).stream()
                        .map(listen -> ServiceChecks.listen("api.listen", listen))
                        .toList())
                .one(_ -> ServiceChecks.listen(
                        "tcp.port", new HostPort(config.get(AgentKeys.TCP_ADDRESS), config.get(AgentKeys.TCP_PORT))))
                .one(ServiceChecks::coordinator)
                .report();
    }

    /**
     * Collects the lines of checks; each check has a deadline for every wait within and throws for nothing that it
     * finds.
     */
    private record Findings(Host host, List<Line> lines) {
        Findings(Host host) {
            this(host, new ArrayList<>());
        }

        void add(Line line) {
            lines.add(line);
        }

        Findings one(Function<Host, Line> check) {
            lines.add(check.apply(host));
            return this;
        }

        Findings all(Function<Host, List<Line>> check) {
            lines.addAll(check.apply(host));
            return this;
        }

        Report report() {
            return Report.of(lines);
        }
    }
}
