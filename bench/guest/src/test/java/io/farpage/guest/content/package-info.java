@NullMarked
package io.farpage.guest.content;

import org.jspecify.annotations.NullMarked;
