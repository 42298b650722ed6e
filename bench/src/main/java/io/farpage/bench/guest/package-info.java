/** Guests in this process whose pages one agent pages and another one stores. */
@NullMarked
package io.farpage.bench.guest;

import org.jspecify.annotations.NullMarked;
