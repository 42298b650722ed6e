@NullMarked
package io.farpage.cli;

import org.jspecify.annotations.NullMarked;
