/**
 * A cluster on one host, to try farpage out: real processes that {@code farpage up} starts and {@code farpage down}
 * ends. Which processes belong to it the kernel tells, by a variable of their environment, so that no file has to be
 * true after a crash.
 */
@NullMarked
package io.farpage.cli.local;

import org.jspecify.annotations.NullMarked;
