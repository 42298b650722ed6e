package io.farpage.agent.command;

import io.farpage.agent.client.AgentTarget;
import io.farpage.agent.libvirt.Domain;
import io.farpage.agent.libvirt.DomainException;
import io.farpage.agent.rest.GuestOperations;
import io.farpage.rest.Json;
import io.farpage.tls.ClientOptions;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * {@code page-agent libvirt-hook}: what libvirt calls for each domain of QEMU. Before a domain with a
 * {@code farpage:guest} starts, the agent is asked to wait for its memory; after it has ended, the agent lets go of it.
 * Source: <a href="https://libvirt.org/hooks.html">Hooks for specific system management</a>.
 */
@Command(
        name = "libvirt-hook",
        mixinStandardHelpOptions = true,
        description =
                "The hook of libvirt for QEMU: /etc/libvirt/hooks/qemu.d/farpage calls it with its own arguments, and"
                        + " with the XML of the domain on standard input. Domains without a farpage:guest in their"
                        + " metadata are left alone.")
public final class LibvirtHookCommand implements Callable<Integer> {
    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    private static final int REFUSED = 1;

    @Parameters(
            arity = "3..*",
            paramLabel = "ARGUMENT",
            description =
                    "What libvirt gives: the domain's name, the operation (prepare, release, ...), begin or end, and"
                            + " more")
    private List<String> arguments = List.of();

    @Option(
            names = "--agent",
            paramLabel = "AGENT",
            defaultValue = "${env:FARPAGE_AGENT}",
            description = AgentTarget.AGENT)
    private @Nullable String agent;

    @Mixin
    private final ClientOptions security = new ClientOptions();

    @Override
    public Integer call() throws InterruptedException {
        List<String> operation = arguments.subList(1, 3);
        boolean begins = operation.equals(List.of("prepare", "begin"));
        boolean ends = operation.equals(List.of("release", "end"));
        if (!begins && !ends) {
            return 0;
        }
        try {
            Domain described = Domain.read(System.in);
            if (!described.isRemote()) {
                return 0;
            }
            byte[] request = begins ? Json.STRICT.writeValueAsBytes(described.request()) : new byte[0];
            byte[] answer = AgentTarget.send(
                    new AgentTarget.Caller(agent, security, spec.commandLine().getErr()),
                    (begins ? GuestOperations.ATTACH : GuestOperations.DETACH).at(described.space()),
                    AgentTarget.JSON,
                    request);
            // A domain that has ended has ended: libvirt only logs what a hook says of that.
            return answer == null && begins ? REFUSED : 0;
        } catch (DomainException e) {
            spec.commandLine().getErr().println("page-agent: " + e.getMessage());
            return begins ? REFUSED : 0;
        }
    }
}
