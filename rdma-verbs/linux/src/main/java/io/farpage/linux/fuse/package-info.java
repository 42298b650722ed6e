/**
 * The kernel's protocol of file systems in user space (FUSE), version 7.31 and later, on the descriptor of
 * {@code /dev/fuse}: what a read-only file system needs. Structures and constants are those of
 * {@code include/uapi/linux/fuse.h}; numbers are in the byte order of the host.
 */
@NullMarked
package io.farpage.linux.fuse;

import org.jspecify.annotations.NullMarked;
