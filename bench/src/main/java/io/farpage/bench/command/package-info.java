/** What the commands that measure have in common: options, the course of a run, and how it ends. */
@NullMarked
package io.farpage.bench.command;

import org.jspecify.annotations.NullMarked;
