/**
 * What the coordinator knows and how it changes. {@link io.farpage.coordinator.cluster.Ledger} is the one writer: every
 * change is checked against the state, made durable, made visible and told to the watchers, in this order, under one
 * lock. Readers take the current {@link io.farpage.coordinator.cluster.State}, which never changes, and so see all of a
 * change or nothing.
 */
@NullMarked
package io.farpage.coordinator.cluster;

import org.jspecify.annotations.NullMarked;
