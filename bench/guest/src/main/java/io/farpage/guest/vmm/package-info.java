/**
 * A small virtual machine monitor on KVM whose guest touches, dirties and checks pages of its RAM, so that paging can
 * be measured with a real vCPU and without a guest operating system.
 *
 * <p>The guest runs in long mode without interrupts. Its page tables and its code are in a memory slot of their own,
 * which is never paged; all the rest of its RAM is for pages. The host assembles one short program per
 * {@link io.farpage.guest.vmm.Pass}, lets the vCPUs run it to HLT and takes the time. With a page agent's socket the
 * RAM is registered with a userfaultfd and handed over in Firecracker's form. No Java code touches that RAM: vCPUs do,
 * inside {@code KVM_RUN}, which to the JVM is a thread in native code.
 */
@NullMarked
package io.farpage.guest.vmm;

import org.jspecify.annotations.NullMarked;
