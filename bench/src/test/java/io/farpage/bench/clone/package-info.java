@NullMarked
package io.farpage.bench.clone;

import org.jspecify.annotations.NullMarked;
