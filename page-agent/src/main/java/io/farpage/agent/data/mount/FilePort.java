package io.farpage.agent.data.mount;

import io.farpage.linux.fuse.FuseConnection;
import io.farpage.linux.fuse.FuseRequest;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A mounted file system: its descriptor, and the files of it that can be read. */
public final class FilePort {
    private static final ReadableFile[] NO_FILES = {};

    private final FuseConnection fuse;
    private final Consumer<FuseRequest> others;
    private final Runnable ended;
    private final AtomicReference<ReadableFile[]> files = new AtomicReference<>(NO_FILES);

    // The rest belongs to the shard's thread.
    private int underWay;
    private @Nullable CompletableFuture<Void> removed;

    /**
     * @param others gets the requests that the data plane does not answer, on the shard's thread; must not wait
     * @param ended runs when the file system is unmounted, on the shard's thread; must not wait
     */
    public FilePort(FuseConnection fuse, Consumer<FuseRequest> others, Runnable ended) {
        this.fuse = fuse;
        this.others = others;
        this.ended = ended;
    }

    /** Lets a file be read. Any thread. */
    public void add(ReadableFile file) {
        files.updateAndGet(before -> {
            ReadableFile[] more = Arrays.copyOf(before, before.length + 1);
            more[before.length] = file;
            return more;
        });
    }

    /** Lets the file of a node be read no longer, from the next request on. Any thread. */
    public void remove(long node) {
        files.updateAndGet(before ->
                Arrays.stream(before).filter(one -> one.node() != node).toArray(ReadableFile[]::new));
    }

    FuseConnection fuse() {
        return fuse;
    }

    @Nullable
    ReadableFile file(long node) {
        ReadableFile[] all = files.get();
        for (int i = 0; i < all.length; i++) {
            if (all[i].node() == node) {
                return all[i];
            }
        }
        return null;
    }

    void pass(FuseRequest request) {
        others.accept(request);
    }

    /** The file system is unmounted, and is not read from now on. */
    void noticeEnd() {
        assert fuse.hasEnded() : "a file system that is mounted has no end";
        ended.run();
    }

    void begin() {
        underWay++;
    }

    /** A read has ended. */
    void end() {
        underWay--;
        completeRemoval();
    }

    /** No request is read from now on: completes {@code done} when no read is under way. */
    void remove(CompletableFuture<Void> done) {
        removed = done;
        completeRemoval();
    }

    private void completeRemoval() {
        CompletableFuture<Void> done = removed;
        if (done != null && underWay == 0) {
            done.complete(null);
        }
    }
}
