/** Tokens of people and programs, join tokens, and the certificates that nodes get for them. All are in files that the coordinator's user alone can read. */
@NullMarked
package io.farpage.coordinator.access;

import org.jspecify.annotations.NullMarked;
