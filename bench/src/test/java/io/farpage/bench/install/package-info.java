/** Tests of how pages of 2 MiB are installed. */
@NullMarked
package io.farpage.bench.install;

import org.jspecify.annotations.NullMarked;
