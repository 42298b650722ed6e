@NullMarked
package io.farpage.progress;

import org.jspecify.annotations.NullMarked;
