@NullMarked
package io.farpage.bench.pattern;

import org.jspecify.annotations.NullMarked;
