/**
 * Which devices the agent offers its peers, and why: every usable RDMA device first, TCP as the fallback. Opens them
 * and registers the pool with each, once, at start.
 */
@NullMarked
package io.farpage.agent.control.device;

import org.jspecify.annotations.NullMarked;
