/**
 * The fetching node: an agent of its own process with a workload on its shard, which fills a home's pages and fetches
 * them. Another process tells it what to do and hears the outcome, one line of JSON each.
 */
@NullMarked
package io.farpage.bench.node;

import org.jspecify.annotations.NullMarked;
