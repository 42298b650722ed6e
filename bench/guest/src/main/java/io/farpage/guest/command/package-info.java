/** How the options of page-bench are read that more than one command has. */
@NullMarked
package io.farpage.guest.command;

import org.jspecify.annotations.NullMarked;
