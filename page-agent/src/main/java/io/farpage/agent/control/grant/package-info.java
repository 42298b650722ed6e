/**
 * Access of attached nodes to spaces: what this node, as a home, grants to others with a region and a key for each
 * attachment, and what homes have granted to this node. Keys travel through the coordinator, sealed.
 */
@NullMarked
package io.farpage.agent.control.grant;

import org.jspecify.annotations.NullMarked;
