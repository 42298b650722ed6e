@NullMarked
package io.farpage.bench.process;

import org.jspecify.annotations.NullMarked;
