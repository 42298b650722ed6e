@NullMarked
package io.farpage.bench.content;

import org.jspecify.annotations.NullMarked;
