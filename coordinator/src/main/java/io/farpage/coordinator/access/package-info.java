/**
 * Tokens of people and programs, join tokens, the certificates that nodes get for them, and the keys of nodes. All are
 * in files that the coordinator's user alone can read.
 */
@NullMarked
package io.farpage.coordinator.access;

import org.jspecify.annotations.NullMarked;
