/** The parts of the pager, each by itself; the whole of it runs against the kernel in the integration tests. */
@NullMarked
package io.farpage.agent.data.pager;

import org.jspecify.annotations.NullMarked;
