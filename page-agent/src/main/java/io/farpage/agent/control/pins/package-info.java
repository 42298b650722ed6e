/**
 * Whether something may hold a guest's memory pinned, so that a device writes to it past its write protection: the
 * VMM's descriptors tell (O_DIRECT, VFIO, RDMA, io_uring). A {@link io.farpage.agent.control.pins.PinWatch} inspects
 * them for each guest, when the pager asks and regularly.
 */
@NullMarked
package io.farpage.agent.control.pins;

import org.jspecify.annotations.NullMarked;
