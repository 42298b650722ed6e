/** What inspections for pins conclude from descriptors, those of a made-up process and real ones. */
@NullMarked
package io.farpage.agent.control.pins;

import org.jspecify.annotations.NullMarked;
