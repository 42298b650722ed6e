/**
 * {@code page-bench fault}: a process touches memory whose faults an agent resolves from another node; the same
 * process, on the same CPUs, has them resolved by a C program in rounds between, or by the same agent with other
 * settings. {@code page-bench peers}: the same C program has its pages from servers that may be taken instead, and the
 * kernel from swap.
 */
@NullMarked
package io.farpage.bench.fault;

import org.jspecify.annotations.NullMarked;
