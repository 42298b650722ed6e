/**
 * Restores virtual machines of Cloud Hypervisor whose memory is in a space. Cloud Hypervisor receives a migration of
 * mode postcopy, and this package sends it: configuration and state at once, and a page when the guest touches it. The
 * protocol is that of Cloud Hypervisor's {@code vm-migration/src/protocol.rs}, version 0.
 */
@NullMarked
package io.farpage.agent.cloudhypervisor;

import org.jspecify.annotations.NullMarked;
