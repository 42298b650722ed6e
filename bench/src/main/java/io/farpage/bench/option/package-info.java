/** How the options of page-bench are read that more than one command has. */
@NullMarked
package io.farpage.bench.option;

import org.jspecify.annotations.NullMarked;
