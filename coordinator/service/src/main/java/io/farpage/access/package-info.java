/**
 * Identities and what they may do. A certificate or a token gives a request its {@link io.farpage.access.Identity};
 * every operation has its {@link io.farpage.access.Access}; a {@link io.farpage.access.Decision} is the outcome. HTTP
 * and TLS are in other packages.
 */
@NullMarked
package io.farpage.access;

import org.jspecify.annotations.NullMarked;
