/**
 * {@code page-bench cluster}: many pretended agents against one coordinator. A pretended agent makes the requests of a
 * page agent through the same client, and has neither pool nor queue pairs.
 */
@NullMarked
package io.farpage.bench.agents;

import org.jspecify.annotations.NullMarked;
