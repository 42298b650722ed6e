/** JMH benchmarks of the inner pieces: what they cost in nanoseconds, and that they allocate nothing. */
package io.farpage.bench.jmh;
