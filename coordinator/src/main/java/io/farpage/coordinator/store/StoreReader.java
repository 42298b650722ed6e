package io.farpage.coordinator.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.h2.mvstore.OffHeapStore;
import org.h2.mvstore.SFChunk;

/**
 * Lets MVStore read a store file and never write to it. MVStore's own reader keeps a file open after a failed open; the
 * channel of this one is closed by {@link #closeFile} in any case.
 */
final class StoreReader extends OffHeapStore {
    private final FileChannel channel;
    private final String name;

    /** Opens the file. MVStore takes the store that it is given as opened. */
    StoreReader(Path file) throws IOException {
        channel = FileChannel.open(file, StandardOpenOption.READ);
        name = file.toString();
        init(name, true);
        setSize(channel.size());
    }

    @Override
    public ByteBuffer readFully(SFChunk chunk, long position, int length) {
        return readFully(channel, position, length);
    }

    @Override
    public void writeFully(SFChunk chunk, long position, ByteBuffer source) {
        throw readOnly();
    }

    @Override
    public void truncate(long size) {
        throw readOnly();
    }

    /** MVStore writes nothing to a store that is read only. If it did, the file would stay as it is. */
    private UnsupportedOperationException readOnly() {
        return new UnsupportedOperationException("store file " + name + " is open for reading only");
    }

    void closeFile() throws IOException {
        channel.close();
    }
}
