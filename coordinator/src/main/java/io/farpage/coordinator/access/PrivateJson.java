package io.farpage.coordinator.access;

import io.farpage.certs.PrivateFiles;
import io.farpage.rest.Json;
import io.farpage.tls.TlsException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;

/**
 * A list of records in a JSON file of mode 0600, which a running coordinator and commands beside it change. A change
 * holds a lock on a file beside it, and takes the file's place in one step, so a reader needs no lock. Thread-safe.
 *
 * @param <T> a record
 */
final class PrivateJson<T> implements SharedRecords<T> {

    private final Path file;
    private final Class<T[]> type;
    private @Nullable Cached<T> cached;

    /** The records that were read, and the key, time and size of the file at that moment. */
    private record Cached<T>(@Nullable Object key, FileTime modified, long size, List<T> records) {}

    PrivateJson(Path file, Class<T[]> type) {
        this.file = file;
        this.type = type;
    }

    /**
     * The records now. The file is read again only if it has changed.
     *
     * @throws TlsException if it cannot be read
     */
    @Override
    public synchronized List<T> read() {
        try {
            BasicFileAttributes now = Files.readAttributes(file, BasicFileAttributes.class);
            Cached<T> known = cached;
            if (known != null
                    && Objects.equals(known.key(), now.fileKey())
                    && known.modified().equals(now.lastModifiedTime())
                    && known.size() == now.size()) {
                return known.records();
            }
            List<T> records = Arrays.asList(Json.STRICT.readValue(Files.readAllBytes(file), type));
            cached = new Cached<>(now.fileKey(), now.lastModifiedTime(), now.size(), List.copyOf(records));
            return List.copyOf(records);
        } catch (NoSuchFileException e) {
            return List.of();
        } catch (IOException | JacksonException e) {
            throw new TlsException("%s cannot be read: %s".formatted(file, e.getMessage()), e);
        }
    }

    @Override
    public synchronized <R> R change(Function<List<T>, Change<T, R>> change) {
        Path lockFile = file.resolveSibling(file.getFileName() + ".lock");
        PrivateFiles.makeDirectory(Objects.requireNonNull(file.toAbsolutePath().getParent()));
        try (FileChannel channel = FileChannel.open(
                        lockFile,
                        java.util.Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE),
                        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
                FileLock _ = channel.lock()) {
            cached = null;
            Change<T, R> changed = change.apply(read());
            PrivateFiles.replace(file, Json.STRICT.writeValueAsString(changed.records()) + "\n");
            cached = null;
            return changed.result();
        } catch (IOException e) {
            throw new TlsException("%s cannot be changed: %s".formatted(file, e.getMessage()), e);
        }
    }
}
