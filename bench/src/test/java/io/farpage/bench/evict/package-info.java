@NullMarked
package io.farpage.bench.evict;

import org.jspecify.annotations.NullMarked;
