package io.farpage.agent.node;

import io.farpage.agent.control.device.DeviceWatch;
import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.link.LinkControl;
import io.farpage.agent.control.member.Hosting;
import io.farpage.agent.control.member.Membership;
import java.util.concurrent.CompletableFuture;

/**
 * Reports devices that come and go to links, to peers and to the nodes that this one grants access to. Used by the
 * thread that watches the devices.
 */
final class DeviceChanges implements DeviceWatch.Listener {
    private final LinkControl links;
    private final Membership membership;
    private final Announcement announcement;
    private final Hosting hosting;

    DeviceChanges(LinkControl links, Membership membership, Announcement announcement, Hosting hosting) {
        this.links = links;
        this.membership = membership;
        this.announcement = announcement;
        this.hosting = hosting;
    }

    @Override
    public void found(OpenDevice device) {
        informPeers();
        links.devicesChanged();
    }

    @Override
    public void removed(OpenDevice device) {
        informPeers();
    }

    private void informPeers() {
        if (!announcement.transports().devices().isEmpty()) {
            membership.update(announcement.registration());
        }
        // Ranges that were granted are registered with the devices that are open now.
        hosting.refresh();
    }

    @Override
    public void changed(OpenDevice device) {
        links.devicesChanged();
    }

    @Override
    public void completionQueueFailed(OpenDevice device) {
        links.completionQueueFailed(device);
    }

    @Override
    public void queuePairFailed(OpenDevice device, int qpn) {
        links.queuePairFailed(device, qpn);
    }

    @Override
    public CompletableFuture<Void> abandon(OpenDevice device) {
        return links.abandon(device);
    }
}
