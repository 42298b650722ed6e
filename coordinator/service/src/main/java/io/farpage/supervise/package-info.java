/**
 * What a program says to the service manager that runs it, by the protocol of sd_notify(3): that it is ready, that it
 * ends, and, while its main loop makes progress, that its watchdog need not act. Without {@code NOTIFY_SOCKET} in the
 * environment the program says nothing.
 */
@NullMarked
package io.farpage.supervise;

import org.jspecify.annotations.NullMarked;
