/**
 * The data plane: shards and what runs on them. One thread moves pages, and waits for no other: nothing here takes a lock, calls the
 * coordinator or imports the control plane. A shard is told what to do through a queue of commands and answers through a queue of notices.
 */
@NullMarked
package io.farpage.agent.data;

import org.jspecify.annotations.NullMarked;
