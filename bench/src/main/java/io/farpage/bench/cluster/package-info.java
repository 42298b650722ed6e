/** The cluster that a benchmark runs on: a coordinator and agents, processes of their own, and how they wait. */
@NullMarked
package io.farpage.bench.cluster;

import org.jspecify.annotations.NullMarked;
