/** What VMMs send. */
@NullMarked
package io.farpage.agent.guest;

import org.jspecify.annotations.NullMarked;
