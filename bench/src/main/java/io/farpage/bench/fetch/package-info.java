/**
 * {@code page-bench fetch}: a coordinator, a home and a fetching node as processes of their own, one scenario after the
 * other, in rounds that alternate with those of the C baseline under the same placement.
 */
@NullMarked
package io.farpage.bench.fetch;

import org.jspecify.annotations.NullMarked;
