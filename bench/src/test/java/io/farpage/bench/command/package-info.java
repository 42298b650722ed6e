@NullMarked
package io.farpage.bench.command;

import org.jspecify.annotations.NullMarked;
