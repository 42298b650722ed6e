@NullMarked
package io.farpage.posix;

import org.jspecify.annotations.NullMarked;
