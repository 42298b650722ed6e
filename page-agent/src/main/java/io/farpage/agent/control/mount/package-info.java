/**
 * Snapshots as files. A process of its own, {@code page-agent mount}, mounts a file system (FUSE) and passes its
 * descriptor to this node's agent, which answers what the kernel asks for. So the agent needs no right to mount, and
 * the file system outlives it: the next agent of the node gets the same descriptor.
 */
@NullMarked
package io.farpage.agent.control.mount;

import org.jspecify.annotations.NullMarked;
