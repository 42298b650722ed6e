/** The commands of the program, one class each. */
@NullMarked
package io.farpage.agent.command;

import org.jspecify.annotations.NullMarked;
