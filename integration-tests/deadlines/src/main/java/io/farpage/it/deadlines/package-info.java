/**
 * The deadlines of tests that wait for processes, threads and kernels: a test gives the time that a quiet machine
 * needs, and a deadline counts only the share of the time that the machine gives.
 */
@NullMarked
package io.farpage.it.deadlines;

import org.jspecify.annotations.NullMarked;
