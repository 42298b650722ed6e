@NullMarked
package io.farpage.bench.stall;

import org.jspecify.annotations.NullMarked;
