/** What VMMs send. */
@NullMarked
package io.farpage.agent.control.guest;

import org.jspecify.annotations.NullMarked;
