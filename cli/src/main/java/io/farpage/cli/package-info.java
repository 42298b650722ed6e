/** The program {@code farpage}, the one name that an operator has to know: it finds all other programs. */
@NullMarked
package io.farpage.cli;

import org.jspecify.annotations.NullMarked;
