/** {@code page-bench install}: what it takes to install a page of 2 MiB, by the two ways that the kernel has. */
@NullMarked
package io.farpage.bench.install;

import org.jspecify.annotations.NullMarked;
