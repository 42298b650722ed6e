package io.farpage.bench.process;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.farpage.linux.Libc;
import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;

/** Signals that Java's process API does not send (kill(2); numbers of Linux on x86-64 and AArch64). */
enum Signal {
    CONT(18),
    STOP(19);

    private static final MethodHandle kill$mh = Libc.plain("kill", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));

    private final int number;

    Signal(int number) {
        this.number = number;
    }

    /** Sends it to a process; false if that is gone or not ours. */
    boolean send(long pid) {
        try {
            return (int) kill$mh.invokeExact((int) pid, number) == 0;
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }
}
