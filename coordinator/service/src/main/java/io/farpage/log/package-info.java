/**
 * Text of other processes in logs and error messages. Whatever a VMM, an agent or a coordinator sends may contain line
 * breaks and terminal sequences; they are escaped before a person or a program reads them line by line.
 */
@NullMarked
package io.farpage.log;

import org.jspecify.annotations.NullMarked;
