/**
 * The agent's configuration: every key with its default, range and meaning, and how keys become the options of each
 * part.
 */
@NullMarked
package io.farpage.agent.config;

import org.jspecify.annotations.NullMarked;
