@NullMarked
package io.farpage.bench.footprint;

import org.jspecify.annotations.NullMarked;
