/** The life of a guest, what its VMM may send, and how pagers share a limit. */
@NullMarked
package io.farpage.agent.control.guest;

import org.jspecify.annotations.NullMarked;
