package io.farpage.agent.rest;

import io.farpage.agent.control.device.Finding;
import io.farpage.agent.control.link.LinkStatus;
import java.util.List;

/**
 * The answer of {@code GET /api/v1/transport/status}.
 *
 * @param mode the configured mode: auto, rdma or tcp
 * @param preferred what links use when the peer has it too
 * @param reason the choice in one line
 * @param findings the result of probing each provider, with the fix if it is not usable
 * @param devices the open devices
 * @param links each link, with the transport that it uses
 */
public record TransportStatus(
        String mode,
        String preferred,
        String reason,
        List<Finding> findings,
        List<OpenPort> devices,
        List<LinkStatus> links) {
    public TransportStatus {
        findings = List.copyOf(findings);
        devices = List.copyOf(devices);
        links = List.copyOf(links);
    }

    /**
     * An open device.
     *
     * @param state of its port, or the error if the device does not answer
     * @param gid under which peers address it
     */
    public record OpenPort(
            String name, String transport, int rail, int port, String state, String linkLayer, int mtu, String gid) {}
}
