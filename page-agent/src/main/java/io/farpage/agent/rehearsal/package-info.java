/**
 * A rehearsal of a node's life in a process that stands by, so that its classes are loaded and compiled before it is
 * needed.
 */
@NullMarked
package io.farpage.agent.rehearsal;

import org.jspecify.annotations.NullMarked;
