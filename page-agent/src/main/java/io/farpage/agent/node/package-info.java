/** One node: the page agent, assembled from its components, and what it shows of itself. */
@NullMarked
package io.farpage.agent.node;

import org.jspecify.annotations.NullMarked;
