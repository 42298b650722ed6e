/** The program of the page agent. */
@NullMarked
package io.farpage.agent;

import org.jspecify.annotations.NullMarked;
