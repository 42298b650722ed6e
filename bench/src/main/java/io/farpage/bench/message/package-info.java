/** {@code page-bench messages}: how long a message to another shard and the answer take. */
@NullMarked
package io.farpage.bench.message;

import org.jspecify.annotations.NullMarked;
