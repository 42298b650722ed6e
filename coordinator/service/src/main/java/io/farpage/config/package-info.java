/**
 * Configuration of a farpage program: typed {@linkplain io.farpage.config.Key keys} gathered in one
 * {@link io.farpage.config.Schema}, whose values come from a YAML file, over it the environment
 * ({@code FARPAGE_<SECTION>_<KEY>}), over both the command line. Everything is validated at once and every error says
 * which key, which value, where it came from and what is allowed. The reference page is written from the same
 * definitions.
 */
@NullMarked
package io.farpage.config;

import org.jspecify.annotations.NullMarked;
