package io.farpage.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A shared library other than the C library, whose functions are bound by name. Pointers are passed as
 * {@code JAVA_LONG}. The library is never unloaded: it may have threads and exit handlers, and no handle outlives it.
 *
 * <p>A symbol that the library lacks is bound all the same and collected in {@link #missing()}, so that one message
 * names all of them. The class that binds then refuses the library and calls none of its functions. Belongs to one
 * thread while it binds; the handles are for any thread.
 */
public final class SharedLibrary {
    /** The outcome of loading. */
    public sealed interface Loading {
        /** The library is loaded. */
        record Loaded(SharedLibrary library) implements Loading {}

        /**
         * The dynamic linker does not find the library, or does not load it.
         *
         * @param detail what was attempted, one line
         */
        record NotFound(String detail) implements Loading {}

        /**
         * This JVM may not call native code.
         *
         * @param detail what the JVM says, one line
         * @param fix the flag to add, one line
         */
        record Denied(String detail, String fix) implements Loading {}
    }

    private final SymbolLookup lookup;
    private final List<String> missing = new ArrayList<>();

    private SharedLibrary(SymbolLookup lookup) {
        this.lookup = lookup;
    }

    /**
     * Loads a library. Never throws for what it finds.
     *
     * @param soname what the dynamic linker searches for if there is no path
     * @param path of the library's file
     */
    @SuppressWarnings("restricted") // native access is this class's purpose
    public static Loading load(String soname, Optional<Path> path) {
        try {
            // SAFETY: the arena is the global one, so no function outlives its library.
            SymbolLookup lookup = path.isPresent()
                    ? SymbolLookup.libraryLookup(path.get(), Arena.global())
                    : SymbolLookup.libraryLookup(soname, Arena.global());
            return new Loading.Loaded(new SharedLibrary(lookup));
        } catch (IllegalCallerException e) {
            return new Loading.Denied(
                    "this JVM denies native access: " + e.getMessage(),
                    "start it with --enable-native-access=ALL-UNNAMED");
        } catch (IllegalArgumentException e) {
            return new Loading.NotFound(
                    "cannot load " + path.map(Path::toString).orElse(soname));
        }
    }

    /** Binds a function that returns {@code result}; its errno does not matter. */
    public MethodHandle returns(String symbol, MemoryLayout result, MemoryLayout... arguments) {
        return bind(symbol, FunctionDescriptor.of(result, arguments));
    }

    /** Binds a function that returns nothing. */
    public MethodHandle isVoid(String symbol, MemoryLayout... arguments) {
        return bind(symbol, FunctionDescriptor.ofVoid(arguments));
    }

    /** Binds a function that sets errno. The handle takes {@link Errno#segment()} as its first argument. */
    public MethodHandle setsErrno(String symbol, MemoryLayout result, MemoryLayout... arguments) {
        return bind(symbol, FunctionDescriptor.of(result, arguments), Linker.Option.captureCallState("errno"));
    }

    /** The symbols that were to be bound and that the library does not have, in the order of binding. */
    public List<String> missing() {
        return List.copyOf(missing);
    }

    @SuppressWarnings("restricted") // native access is this class's purpose
    private MethodHandle bind(String symbol, FunctionDescriptor descriptor, Linker.Option... options) {
        Optional<MemorySegment> found = lookup.find(symbol);
        if (found.isEmpty()) {
            missing.add(symbol);
        }
        // SAFETY: the descriptors repeat the prototypes of the library's headers. A library that lacks a symbol is
        // refused, so the address that stands in for the symbol is never called.
        return Linker.nativeLinker()
                .downcallHandle(descriptor, options)
                .bindTo(found.orElse(MemorySegment.ofAddress(1)));
    }
}
