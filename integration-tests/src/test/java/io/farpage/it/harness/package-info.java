/**
 * Starts, watches and kills what the tests are about. A {@link io.farpage.it.harness.Cluster} is a coordinator and its
 * agents, each of them in this JVM or a process: a JVM of its own with the test's class path, which writes its output
 * to {@code target/it}, in a directory for each test JVM. All listen on ports of the system's choice. Nothing outlives
 * the test JVM, however that ends.
 */
@NullMarked
package io.farpage.it.harness;

import org.jspecify.annotations.NullMarked;
