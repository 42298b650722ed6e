@NullMarked
package io.farpage.bench.fault;

import org.jspecify.annotations.NullMarked;
