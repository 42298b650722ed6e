/**
 * What the coordinator and its clients exchange: one record for each JSON document of the REST interface, checked when
 * it is made, so that an instance that exists is valid. A check that fails throws
 * {@link java.lang.IllegalArgumentException} whose message names the field, the value and what is allowed.
 */
@NullMarked
package io.farpage.coordinator.model;

import org.jspecify.annotations.NullMarked;
