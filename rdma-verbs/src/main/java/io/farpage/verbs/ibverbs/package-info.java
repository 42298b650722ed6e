/**
 * The {@code ibverbs} provider: {@code libibverbs.so.1}, called through {@code java.lang.foreign} with no shim between.
 *
 * <p>{@link io.farpage.verbs.ibverbs.IbverbsProvider} is the way in. {@code LibIbverbs} binds the library's functions,
 * {@code Structs} says where the fields of its structures lie, {@code Ops} calls what is inline in C through the
 * device's function pointers; the {@code Ibv…} classes are the verbs objects. {@code NativeDevice}, {@code NativePd}
 * and {@code Outstanding} are what the objects below a device, a protection domain and a queue pair know of it. The
 * data path patches work requests in place in preallocated native memory and decodes completions from it, so it
 * allocates nothing.
 *
 * <p>The {@code wr_id} that the device sees is this package's own: what queue it is of and the place in it. That is how
 * a completion frees everything before it, however little a failed one tells, and how completions from before a queue
 * pair's reset are recognised and dropped. The caller's id is kept beside it in Java.
 */
@NullMarked
package io.farpage.verbs.ibverbs;

import org.jspecify.annotations.NullMarked;
