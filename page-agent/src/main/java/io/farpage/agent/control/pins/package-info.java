/**
 * Whether something may hold a guest's memory pinned, so that a device writes to it past its write protection: what the descriptors of the
 * VMM say about that (O_DIRECT, VFIO, RDMA, io_uring). A {@link io.farpage.agent.control.pins.PinWatch} inspects them for each guest, when the pager
 * asks and regularly.
 */
@NullMarked
package io.farpage.agent.control.pins;

import org.jspecify.annotations.NullMarked;
