/**
 * Starts, watches and kills the processes that the tests are about. A {@link io.farpage.it.harness.Cluster} is a coordinator and its
 * agents; each is a JVM of its own with the test's class path, listens on a port of the system's choice, and writes its output to
 * {@code target/it}, in a directory for each test JVM. Nothing outlives the test JVM, however that ends.
 */
@NullMarked
package io.farpage.it.harness;

import org.jspecify.annotations.NullMarked;
