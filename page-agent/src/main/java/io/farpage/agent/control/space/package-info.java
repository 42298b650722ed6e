/** Spaces, their extents and attachments, cached from the coordinator so that pages move while it is away. */
@NullMarked
package io.farpage.agent.control.space;

import org.jspecify.annotations.NullMarked;
