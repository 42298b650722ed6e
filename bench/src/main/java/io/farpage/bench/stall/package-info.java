/**
 * Whether a round was disturbed by other programs: what the kernel counts while a round runs, and the rule by which a
 * round is left out.
 */
@NullMarked
package io.farpage.bench.stall;

import org.jspecify.annotations.NullMarked;
