@NullMarked
package io.farpage.bench.fetch;

import org.jspecify.annotations.NullMarked;
