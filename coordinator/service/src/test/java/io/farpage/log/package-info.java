/** Text of other processes in logs. */
@NullMarked
package io.farpage.log;

import org.jspecify.annotations.NullMarked;
