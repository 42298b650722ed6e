/** The commands of the program, one class each. */
@NullMarked
package io.farpage.coordinator.command;

import org.jspecify.annotations.NullMarked;
