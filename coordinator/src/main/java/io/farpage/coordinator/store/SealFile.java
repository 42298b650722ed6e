package io.farpage.coordinator.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Keeps the seal of the last commit in a small file of its own, which reveals a store file that lost its end. Writes
 * alternate between two slots, in place: a write that is cut short damages one, and the other holds the commit before.
 * Used by one thread.
 */
final class SealFile implements AutoCloseable {

    private final Path file;
    private final FileChannel channel;

    private SealFile(Path file, FileChannel channel) {
        this.file = file;
        this.channel = channel;
    }

    /** Opens the file, or makes it with the seal of an empty store in both slots. */
    static SealFile open(Path file) {
        try {
            boolean exists = Files.exists(file);
            if (!exists) {
                Files.createFile(file, Permissions.FILE);
            }
            SealFile seals =
                    new SealFile(file, FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE));
            seals.lock();
            if (!exists) {
                seals.write(Seal.EMPTY, 0);
                seals.write(Seal.EMPTY, 1);
            }
            return seals;
        } catch (IOException e) {
            throw new StoreException("file %s cannot be opened: %s".formatted(file, e.getMessage()), e);
        }
    }

    /** Held until the file is closed: the store's own file is closed and opened again after a failed write. */
    private void lock() throws IOException {
        try {
            if (channel.tryLock() != null) {
                return;
            }
        } catch (OverlappingFileLockException e) {
            // Another store in this process has it.
        } catch (IOException e) {
            channel.close();
            throw e;
        }
        channel.close();
        throw new StoreException(
                ("store file %s is in use by another process; stop that coordinator or set store.directory to another"
                                + " directory")
                        .formatted(file));
    }

    /** The newest seal that is whole; empty if neither is. */
    Optional<Seal> newest() {
        return Stream.of(read(0), read(1)).flatMap(Optional::stream).max(Comparator.comparingLong(Seal::revision));
    }

    /** Writes a seal durably. It replaces the one before the last. */
    void write(Seal seal) {
        write(seal, (int) (seal.revision() % 2));
    }

    private void write(Seal seal, int slot) {
        try {
            ByteBuffer bytes = ByteBuffer.wrap(seal.bytes());
            while (bytes.hasRemaining()) {
                channel.write(bytes, (long) slot * Seal.BYTES + bytes.position());
            }
            channel.force(false);
        } catch (IOException e) {
            throw new StoreException("file %s cannot be written: %s".formatted(file, e.getMessage()), e);
        }
    }

    private Optional<Seal> read(int slot) {
        try {
            ByteBuffer bytes = ByteBuffer.allocate(Seal.BYTES);
            int read = channel.read(bytes, (long) slot * Seal.BYTES);
            return read == Seal.BYTES ? Seal.read(bytes.array()) : Optional.empty();
        } catch (IOException e) {
            throw new StoreException("file %s cannot be read: %s".formatted(file, e.getMessage()), e);
        }
    }

    Path file() {
        return file;
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw new StoreException("file %s cannot be closed: %s".formatted(file, e.getMessage()), e);
        }
    }
}
