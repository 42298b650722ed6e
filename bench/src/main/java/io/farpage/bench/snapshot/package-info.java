/** {@code page-bench snapshot}: how long a guest stands still for a snapshot, and what its stores cost meanwhile. */
@NullMarked
package io.farpage.bench.snapshot;

import org.jspecify.annotations.NullMarked;
