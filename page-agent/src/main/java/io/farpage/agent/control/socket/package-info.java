/** Unix sockets in the file system: when a path may be replaced, and the owner and permissions that it has. */
@NullMarked
package io.farpage.agent.control.socket;

import org.jspecify.annotations.NullMarked;
