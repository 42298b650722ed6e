@NullMarked
package io.farpage.bench.coherent;

import org.jspecify.annotations.NullMarked;
