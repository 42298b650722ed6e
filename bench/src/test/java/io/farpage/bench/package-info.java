@NullMarked
package io.farpage.bench;

import org.jspecify.annotations.NullMarked;
