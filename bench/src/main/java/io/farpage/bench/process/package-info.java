/**
 * The programs that a benchmark runs beside itself: started through this installation's launchers, watched, put to
 * sleep while another is measured, and ended with the benchmark however that ends.
 */
@NullMarked
package io.farpage.bench.process;

import org.jspecify.annotations.NullMarked;
