/**
 * Homes that are slow, lost, or join: hedged READs, reports, copying pages, and pages that have become the only copy.
 * Above {@code transfer}.
 */
@NullMarked
package io.farpage.agent.data.pager.repair;

import org.jspecify.annotations.NullMarked;
