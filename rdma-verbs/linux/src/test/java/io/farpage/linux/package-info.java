@NullMarked
package io.farpage.linux;

import org.jspecify.annotations.NullMarked;
