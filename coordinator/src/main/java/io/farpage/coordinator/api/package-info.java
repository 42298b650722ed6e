/**
 * The coordinator's REST interface: the routes under {@code /api/v1}, and the dashboard. It reads requests and writes
 * answers; what they do is decided in {@code cluster}.
 */
@NullMarked
package io.farpage.coordinator.api;

import org.jspecify.annotations.NullMarked;
