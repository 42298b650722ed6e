package io.farpage.agent.rest;

import io.farpage.agent.control.device.Finding;
import io.farpage.agent.control.link.LinkStatus;
import java.util.List;

/**
 * The answer of {@code GET /api/v1/transport/status}.
 *
 * @param mode what was asked for: auto, rdma or tcp
 * @param preferred what links use when the peer has it too
 * @param reason the choice in one line
 * @param findings what was looked at, and what to do where it is not usable
 * @param devices what is open
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
     * @param state of its port; what it says, if it does not answer
     * @param gid what peers address it by
     */
    public record OpenPort(
            String name, String transport, int rail, int port, String state, String linkLayer, int mtu, String gid) {}
}
