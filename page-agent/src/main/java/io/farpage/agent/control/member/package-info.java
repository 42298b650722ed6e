/**
 * This node as a member of the cluster: registration, lease, the coordinator's events, and the zeroing of
 * released frames. All of it survives a coordinator that is away.
 */
@NullMarked
package io.farpage.agent.control.member;

import org.jspecify.annotations.NullMarked;
