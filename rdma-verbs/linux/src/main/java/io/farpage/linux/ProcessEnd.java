package io.farpage.linux;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;

/** The end of this process (_exit(2)). */
public final class ProcessEnd {
    private static final MethodHandle exit$mh = Libc.plain("_exit", FunctionDescriptor.ofVoid(JAVA_INT));

    private ProcessEnd() {}

    /**
     * Ends this process now, in whatever its threads are. {@link Runtime#halt} stops them first, and then waits up to
     * 300 ms for those that are in native code, as a thread is that waits for a descriptor (HotSpot,
     * {@code VM_Exit::wait_for_threads_in_native_to_block}). Does not return.
     *
     * @param status exit code, 0 to 255
     */
    public static void now(int status) {
        try {
            // SAFETY: nothing of this process runs afterwards.
            exit$mh.invokeExact(status);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
