@NullMarked
package io.farpage.bench.agents;

import org.jspecify.annotations.NullMarked;
