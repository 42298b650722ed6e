@NullMarked
package io.farpage.verbs.soft;

import org.jspecify.annotations.NullMarked;
