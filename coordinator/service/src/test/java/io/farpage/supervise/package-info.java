@NullMarked
package io.farpage.supervise;

import org.jspecify.annotations.NullMarked;
