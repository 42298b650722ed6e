@NullMarked
package io.farpage.bench.report;

import org.jspecify.annotations.NullMarked;
