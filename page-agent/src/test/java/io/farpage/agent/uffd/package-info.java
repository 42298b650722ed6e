/** What tests need to stand in for the kernel. */
@NullMarked
package io.farpage.agent.uffd;

import org.jspecify.annotations.NullMarked;
