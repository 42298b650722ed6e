/**
 * {@code page-bench coherent}: what faults of a coherent space cost. Its members are mappings of this process, each
 * handed over to an agent of its own, so that threads of this process take the steps of several nodes in order.
 */
@NullMarked
package io.farpage.bench.coherent;

import org.jspecify.annotations.NullMarked;
