/**
 * Verbs: the InfiniBand objects and operations that farpage moves pages with, under the names their users know.
 *
 * <p>A {@link io.farpage.verbs.VerbsProvider} opens a {@link io.farpage.verbs.Device}; a device holds protection
 * domains, completion channels and completion queues; a {@link io.farpage.verbs.ProtectionDomain} holds memory regions
 * and reliable-connected {@link io.farpage.verbs.QueuePair queue pairs}. Two providers stand behind this one API:
 * {@code ibverbs} (an RDMA NIC through libibverbs) and {@code soft} (user space, over TCP). Both pass the same contract
 * suite, so code above this package does not know which it runs on.
 *
 * <p><b>Threading.</b> Opening, creating, registering and closing are control-path calls and may come from any thread.
 * The data path is single-writer: a queue pair is prepared, posted to and moved between states by one thread at a time,
 * and a completion queue is polled by one thread at a time, which is the same one for all queue pairs that complete
 * there.
 *
 * <p><b>Allocation.</b> Preparing, posting and polling allocate nothing when they succeed.
 */
@NullMarked
package io.farpage.verbs;

import org.jspecify.annotations.NullMarked;
