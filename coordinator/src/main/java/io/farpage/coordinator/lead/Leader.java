package io.farpage.coordinator.lead;

import java.net.URI;

/**
 * The coordinator that leads.
 *
 * @param url where clients reach it
 * @param term number of its term, which grows from each leader to the next
 */
public record Leader(URI url, long term) {}
