/**
 * The calls of the coordinator's REST interface, each declared once. The coordinator binds a handler to each, the
 * client makes them, and the coordinator of a rehearsal answers some. A class has the calls of one resource, so that a
 * command loads what it calls and little else.
 */
@NullMarked
package io.farpage.coordinator.model.operation;

import org.jspecify.annotations.NullMarked;
