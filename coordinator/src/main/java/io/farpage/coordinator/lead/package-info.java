/**
 * Which of several coordinators leads. A coordinator whose store is shared stands as a candidate; while it leads it
 * holds a term, whose store refuses every commit of a coordinator that leads no longer. The implementation is found
 * with {@link java.util.ServiceLoader}, so that only the coordinator's program has its libraries.
 */
@org.jspecify.annotations.NullMarked
package io.farpage.coordinator.lead;
