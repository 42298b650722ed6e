@NullMarked
package io.farpage.bench.message;

import org.jspecify.annotations.NullMarked;
