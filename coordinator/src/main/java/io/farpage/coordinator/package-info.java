/**
 * The coordinator: who is in the cluster, how links find each other, which pages live where. Never on the data path.
 */
@NullMarked
package io.farpage.coordinator;

import org.jspecify.annotations.NullMarked;
