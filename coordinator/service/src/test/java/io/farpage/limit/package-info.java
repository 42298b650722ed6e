@NullMarked
package io.farpage.limit;

import org.jspecify.annotations.NullMarked;
