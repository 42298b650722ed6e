@NullUnmarked
package io.farpage.linux.crypto;

import org.jspecify.annotations.NullUnmarked;
