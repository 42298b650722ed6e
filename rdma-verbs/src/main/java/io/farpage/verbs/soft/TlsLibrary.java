package io.farpage.verbs.soft;

import io.farpage.linux.crypto.LibSsl;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Each libssl that this process was asked for, loaded once. Loading binds dozens of functions and takes tenths of a
 * second, so no thread that moves pages or accepts connections waits for it. Thread-safe.
 */
final class TlsLibrary {
    private static final Map<Optional<Path>, CompletableFuture<LibSsl.Loading>> LOADED = new ConcurrentHashMap<>();

    private TlsLibrary() {}

    /** Loads a library, unless it is loaded, and waits for that. */
    static LibSsl.Loading load(Optional<Path> path) {
        return loading(path).join();
    }

    /** The library, if it is loaded; otherwise begins to load it. */
    static Optional<LibSsl.Loading> poll(Optional<Path> path) {
        CompletableFuture<LibSsl.Loading> loading = loading(path);
        return loading.isDone() ? Optional.of(loading.join()) : Optional.empty();
    }

    private static CompletableFuture<LibSsl.Loading> loading(Optional<Path> path) {
        return LOADED.computeIfAbsent(path, wanted -> {
            CompletableFuture<LibSsl.Loading> loading = new CompletableFuture<>();
            Thread.ofPlatform().daemon().name("load-libssl").start(() -> complete(loading, wanted));
            return loading;
        });
    }

    private static void complete(CompletableFuture<LibSsl.Loading> loading, Optional<Path> path) {
        try {
            loading.complete(LibSsl.load(path));
        } catch (Throwable e) { // whatever waits must not wait for ever
            loading.complete(new LibSsl.Loading.Failed("libssl could not be loaded: " + e, "see the log"));
        }
    }
}
