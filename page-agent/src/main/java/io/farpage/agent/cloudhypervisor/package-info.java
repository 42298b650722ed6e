/**
 * Restores virtual machines of Cloud Hypervisor whose memory is in a space. Cloud Hypervisor receives a migration of
 * mode postcopy, of which this is the other side: it gets configuration and state at once, and asks for a page when its
 * guest touches it. The protocol is that of Cloud Hypervisor's {@code vm-migration/src/protocol.rs}, version 0.
 */
@NullMarked
package io.farpage.agent.cloudhypervisor;

import org.jspecify.annotations.NullMarked;
