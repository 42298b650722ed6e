package io.farpage.agent.node;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.Providers;
import io.farpage.agent.config.QueuePairMemory;
import io.farpage.agent.control.CloseStack;
import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.device.Transports;
import io.farpage.agent.control.link.LinkEncryption;
import io.farpage.agent.control.space.Spaces;
import io.farpage.config.Config;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolException;
import io.farpage.trace.TraceKeys;
import io.farpage.trace.Tracer;
import io.farpage.verbs.soft.SoftProvider;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What an agent has before a page moves, and longest: its identity, its pool, its devices and its client of the
 * coordinator.
 *
 * @param mapped the pool, as what is unmapped last
 * @param self the node, as control threads know it
 */
record Foundation(
        Config config,
        Doors doors,
        Optional<Tracer> tracer,
        AgentAudit audit,
        PoolKeeping keeping,
        MappedPool mapped,
        Transports transports,
        LocalNode self,
        Spaces spaces) {
    private static final Logger log = LoggerFactory.getLogger(Foundation.class);

    /** @param open gets what must be closed, also if this fails */
    static Foundation open(CloseStack open, PageAgent.Start start) throws PoolException {
        Config config = start.config();
        Providers providers = start.providers();
        Doors doors = open.add(Doors.open(config));
        String node = doors.node();
        Optional<Tracer> tracer = TraceKeys.begin(config, "page-agent", node).map(open::add);
        AgentAudit audit = new AgentAudit(doors.audit());
        QueuePairMemory.of(config).shortage().ifPresent(log::warn);
        Incarnation incarnation = Incarnation.draw();
        PoolKeeping keeping = open.add(PoolKeeping.open(config, node, incarnation, start.claimed()));
        PagePool pool = keeping.pool();
        MappedPool mapped = open.add(new MappedPool(pool));
        if (providers.tcp() instanceof SoftProvider soft) {
            soft.onRefusal(audit);
        }
        Transports transports = mapped.usedBy(open.add(Transports.open(
                config.get(AgentKeys.TRANSPORT_MODE), providers.rdma(), providers.tcp(), pool, System::nanoTime)));
        if (config.get(AgentKeys.LINK_ENCRYPTION) == LinkEncryption.REQUIRE) {
            log.info("every link of this agent is encrypted (TLS 1.3), and RDMA is not used: link.encryption is"
                    + " require");
        }
        CoordinatorClient coordinator = open.add(new CoordinatorClient(
                doors.coordinators(),
                config.get(AgentKeys.COORDINATOR_TIMEOUT),
                keeping.allegiance(),
                doors.credentials()));
        Spaces spaces = open.add(new Spaces(coordinator, node, incarnation));
        LinkKeys keys = LinkKeys.generate(node, incarnation, doors.tls());
        return new Foundation(
                config,
                doors,
                tracer,
                audit,
                keeping,
                mapped,
                transports,
                new LocalNode(node, incarnation, pool, coordinator, keys),
                spaces);
    }
}
