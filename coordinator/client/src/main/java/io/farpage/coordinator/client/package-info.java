/**
 * The coordinator's client: one method for each operation, a deadline on each, and two ways to fail: not reached, or
 * refused.
 */
@NullMarked
package io.farpage.coordinator.client;

import org.jspecify.annotations.NullMarked;
