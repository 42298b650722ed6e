package io.farpage.linux;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;

/**
 * Binds functions of the C library. Pointers are passed as {@code JAVA_LONG}: the same registers, and no segment to
 * wrap.
 *
 * <p>A function that the C library lacks is bound all the same: every call of it returns -1, with ENOSYS where errno is
 * captured, as a system call does that the kernel lacks. {@link #missing()} names such functions. Thread-safe.
 */
public final class Libc {
    private static final Linker.Option CAPTURE_ERRNO = Linker.Option.captureCallState("errno");
    private static final Set<String> MISSING = new ConcurrentSkipListSet<>();
    private static final MethodHandle FAIL = handleOfFail();

    private Libc() {}

    /**
     * Binds a function that sets errno. The handle takes {@link Errno#segment()} as its first argument.
     *
     * @param variadicFrom index of the first variadic argument, or -1 if the function is not variadic
     */
    @SuppressWarnings("restricted") // native access is this class's purpose
    public static MethodHandle capturing(String function, FunctionDescriptor descriptor, int variadicFrom) {
        Optional<MemorySegment> symbol = find(function);
        if (symbol.isEmpty()) {
            return absent(descriptor.toMethodType(), true);
        }
        Linker linker = Linker.nativeLinker();
        // SAFETY: the descriptors repeat the prototypes of the man pages.
        return variadicFrom < 0
                ? linker.downcallHandle(symbol.get(), descriptor, CAPTURE_ERRNO)
                : linker.downcallHandle(
                        symbol.get(), descriptor, CAPTURE_ERRNO, Linker.Option.firstVariadicArg(variadicFrom));
    }

    /** As {@link #capturing(String, FunctionDescriptor, int)}, for a function that is not variadic. */
    public static MethodHandle capturing(String function, FunctionDescriptor descriptor) {
        return capturing(function, descriptor, -1);
    }

    /**
     * Binds a function whose errno does not matter. A call allocates nothing, however seldom it is: one that captures
     * errno slices the segment for it, which only the second compiler removes.
     *
     * @param options {@link Linker.Option#firstVariadicArg} of a function that is variadic
     */
    @SuppressWarnings("restricted") // native access is this class's purpose
    public static MethodHandle plain(String function, FunctionDescriptor descriptor, Linker.Option... options) {
        // SAFETY: the descriptors repeat the prototypes of the man pages.
        return find(function)
                .map(symbol -> Linker.nativeLinker().downcallHandle(symbol, descriptor, options))
                .orElseGet(() -> absent(descriptor.toMethodType(), false));
    }

    /** Functions that were to be bound and that the C library does not have, in alphabetical order. */
    public static Set<String> missing() {
        return Set.copyOf(MISSING);
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

    private static Optional<MemorySegment> find(String function) {
        Optional<MemorySegment> symbol = Linker.nativeLinker()
                .defaultLookup()
                .find(function)
                .or(() -> SymbolLookup.loaderLookup().find(function));
        if (symbol.isEmpty()) {
            MISSING.add(function);
        }
        return symbol;
    }

    /** Returns -1 whatever it is given, and captures ENOSYS in the segment that comes first, if one does. */
    private static MethodHandle absent(MethodType function, boolean captures) {
        MethodHandle fail = captures ? FAIL : MethodHandles.constant(int.class, -1);
        MethodHandle typed = fail.asType(fail.type().changeReturnType(function.returnType()));
        return MethodHandles.dropArguments(typed, typed.type().parameterCount(), function.parameterList());
    }

    @SuppressWarnings("UnusedMethod") // found by its name
    private static int fail(MemorySegment state) {
        Errno.capture(state, Errno.ENOSYS);
        return -1;
    }

    private static MethodHandle handleOfFail() {
        try {
            return MethodHandles.lookup()
                    .findStatic(Libc.class, "fail", MethodType.methodType(int.class, MemorySegment.class));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
