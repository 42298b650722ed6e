/** The page agent: the daemon of one node, put together from its parts. */
@NullMarked
package io.farpage.agent;

import org.jspecify.annotations.NullMarked;
