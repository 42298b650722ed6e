/**
 * Where the coordinator keeps what must outlive it: a few tables of JSON rows, changed all at once or not at all. An
 * interface, so that a distributed engine can take the place of the embedded one.
 */
@NullMarked
package io.farpage.coordinator.store;

import org.jspecify.annotations.NullMarked;
