package io.farpage.posix;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/** Binds functions of the C library. Pointers are passed as {@code JAVA_LONG}: the same registers, and no segment to wrap. */
public final class Libc {
    private static final Linker.Option CAPTURE_ERRNO = Linker.Option.captureCallState("errno");

    private Libc() {}

    /**
     * Binds a function that sets errno. The handle takes {@link Errno#segment()} as its first argument.
     *
     * @param variadicFrom index of the first variadic argument, or -1 if the function is not variadic
     * @throws UnsatisfiedLinkError naming the function, if the C library has none of this name
     */
    @SuppressWarnings("restricted") // native access is this class's purpose
    public static MethodHandle capturing(String function, FunctionDescriptor descriptor, int variadicFrom) {
        Linker linker = Linker.nativeLinker();
        // SAFETY: the descriptors given here repeat the prototypes of the man pages.
        return variadicFrom < 0
                ? linker.downcallHandle(find(function), descriptor, CAPTURE_ERRNO)
                : linker.downcallHandle(
                        find(function), descriptor, CAPTURE_ERRNO, Linker.Option.firstVariadicArg(variadicFrom));
    }

    /** As {@link #capturing(String, FunctionDescriptor, int)}, for a function that is not variadic. */
    public static MethodHandle capturing(String function, FunctionDescriptor descriptor) {
        return capturing(function, descriptor, -1);
    }

    /** Binds a function whose errno does not matter. */
    @SuppressWarnings("restricted") // native access is this class's purpose
    public static MethodHandle plain(String function, FunctionDescriptor descriptor) {
        // SAFETY: the descriptors given here repeat the prototypes of the man pages.
        return Linker.nativeLinker().downcallHandle(find(function), descriptor);
    }

    /** What to throw for something that a downcall threw: it never does, so this is a fault of the binding. */
    public static RuntimeException unexpected(Throwable thrown) {
        if (thrown instanceof RuntimeException e) {
            return e;
        }
        if (thrown instanceof Error e) {
            throw e;
        }
        return new IllegalStateException("a downcall threw", thrown);
    }

    private static MemorySegment find(String function) {
        return Linker.nativeLinker()
                .defaultLookup()
                .find(function)
                .or(() -> SymbolLookup.loaderLookup().find(function))
                .orElseThrow(() -> new UnsatisfiedLinkError("the C library has no " + function));
    }
}
