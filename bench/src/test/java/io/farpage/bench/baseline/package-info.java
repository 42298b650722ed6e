@NullMarked
package io.farpage.bench.baseline;

import org.jspecify.annotations.NullMarked;
