/** What a coordinator is configured with. */
@NullMarked
package io.farpage.coordinator.config;

import org.jspecify.annotations.NullMarked;
