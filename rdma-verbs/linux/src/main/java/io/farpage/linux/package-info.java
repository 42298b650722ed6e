/**
 * The few calls of the C library that farpage makes, bound through the foreign function and memory API.
 *
 * <p>One small class per concern. Calls on the hot path return what the kernel returns: a count, or a negative error
 * number ({@code -EAGAIN}); they allocate nothing and take raw addresses, whose lifetime is the caller's care. Calls on
 * the control path throw {@link io.farpage.linux.PosixException}. Linux only, x86-64 and aarch64.
 *
 * <p>Every call that can fail takes an {@link io.farpage.linux.Errno}: the place where that call's error number is
 * captured. It belongs to one thread at a time, so each thread, or each object owned by one thread, has its own.
 */
@NullMarked
package io.farpage.linux;

import org.jspecify.annotations.NullMarked;
