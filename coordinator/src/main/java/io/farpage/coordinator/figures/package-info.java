/**
 * How the guests of the cluster have faulted in the last 15 minutes, where their pages are, and how they share coherent
 * spaces: what agents report for the dashboard. In memory only, of bounded size, and of no meaning to anything but what
 * is shown.
 */
@org.jspecify.annotations.NullMarked
package io.farpage.coordinator.figures;
