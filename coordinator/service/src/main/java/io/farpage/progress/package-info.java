/**
 * How far a command is: one line on standard error, redrawn in place on a terminal, and otherwise a line every few
 * seconds if that is asked for. Nothing of it reaches standard output. Not a library: me.tongfei:progressbar brings
 * JLine, and the class path is one for commands and daemons.
 */
@NullMarked
package io.farpage.progress;

import org.jspecify.annotations.NullMarked;
