@NullMarked
package io.farpage.bench.vmm;

import org.jspecify.annotations.NullMarked;
