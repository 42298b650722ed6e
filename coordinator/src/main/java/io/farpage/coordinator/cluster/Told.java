package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Event;

/** An event and the watchers that it concerns. */
record Told(Event event, Audience audience) {}
