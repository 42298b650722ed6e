/** The page agent: the daemon of one node, assembled from its components. */
@NullMarked
package io.farpage.agent;

import org.jspecify.annotations.NullMarked;
