/**
 * The soft provider: verbs in user space over TCP, for hosts without an RDMA device.
 *
 * <p>A queue pair uses two TCP connections. Its <em>initiator</em> connection, which it opens, carries its own requests
 * out and their replies in; the thread that posts and polls moves that data, without blocking. The connection that the
 * peer opens ends at a <em>responder</em>: a thread of its own that checks each request as a NIC would and answers it
 * straight from registered memory. The two share nothing but the queue pair's state and its receive queue, so a slow or
 * hostile peer delays only itself. The wire format is described in {@code docs/wire-protocol.md}.
 */
@NullMarked
package io.farpage.verbs.soft;

import org.jspecify.annotations.NullMarked;
