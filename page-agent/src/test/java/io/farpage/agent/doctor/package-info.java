/** The doctor looked at with recorded machines, and with this one. */
@NullMarked
package io.farpage.agent.doctor;

import org.jspecify.annotations.NullMarked;
