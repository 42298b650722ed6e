@NullMarked
package io.farpage.linux.uffd;

import org.jspecify.annotations.NullMarked;
