/**
 * The data plane: shards and what runs on them. One thread moves pages, and waits for no other: no class of the package
 * takes a lock, calls the coordinator or imports the control plane. A shard receives commands through one queue and
 * answers with notices through another.
 */
@NullMarked
package io.farpage.agent.data;

import org.jspecify.annotations.NullMarked;
