package io.farpage.it.harness;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** kill(2). */
final class Signals {
    static final int INT = 2;
    static final int KILL = 9;
    static final int TERM = 15;
    static final int CONT = 18;
    static final int STOP = 19;

    @SuppressWarnings("restricted") // the JDK sends SIGTERM and SIGKILL only
    private static final MethodHandle kill$mh = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("kill"),
                    FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));

    private Signals() {}

    /** Sends a signal to one process, which must be a child of this one that was not waited for yet. */
    static void send(long pid, int signal) {
        int result;
        try {
            result = (int) kill$mh.invokeExact(Math.toIntExact(pid), signal);
        } catch (Throwable e) {
            throw new LinkageError("kill", e);
        }
        if (result != 0) {
            throw new IllegalStateException("kill(" + pid + ", " + signal + ") failed");
        }
    }
}
