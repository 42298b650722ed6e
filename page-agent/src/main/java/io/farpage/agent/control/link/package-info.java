/**
 * Brings links up and keeps them up: agrees with each peer, through the coordinator, on which queue pair connects to
 * which, hands connected queue pairs to the shards, and starts again when one fails, the peer restarts or the
 * coordinator comes back.
 */
@NullMarked
package io.farpage.agent.control.link;

import org.jspecify.annotations.NullMarked;
