package io.farpage.certs;

import io.farpage.tls.TlsException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/** Files that their owner alone can read (mode 0600), in directories of mode 0700. */
public final class PrivateFiles {

    private static final FileAttribute<Set<PosixFilePermission>> FILE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    private static final FileAttribute<Set<PosixFilePermission>> DIRECTORY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private PrivateFiles() {}

    /** Makes a directory, if there is none. */
    public static void makeDirectory(Path directory) {
        try {
            if (!Files.isDirectory(directory)) {
                Files.createDirectories(directory, DIRECTORY);
            }
        } catch (IOException e) {
            throw new TlsException("directory %s cannot be made: %s".formatted(directory, e), e);
        }
    }

    /**
     * Writes a file that does not exist.
     *
     * @throws TlsException if it exists, or cannot be written
     */
    public static void create(Path file, String text) {
        try (FileChannel channel =
                FileChannel.open(file, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), FILE)) {
            write(channel, text);
        } catch (FileAlreadyExistsException e) {
            throw new TlsException("%s exists and is not overwritten; move it away first".formatted(file), e);
        } catch (IOException e) {
            throw new TlsException("%s cannot be written: %s".formatted(file, e), e);
        }
    }

    /** Writes a file in one step. It replaces an existing one. */
    public static void replace(Path file, String text) {
        Path part = file.resolveSibling(file.getFileName() + ".part");
        try {
            Files.deleteIfExists(part);
            create(part, text);
            Files.move(part, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new TlsException("%s cannot be written: %s".formatted(file, e), e);
        }
    }

    /**
     * Refuses to go on if one of several files exists, before the first of them is written.
     *
     * @throws TlsException if one does
     */
    public static void requireAbsent(Path... files) {
        for (Path file : files) {
            if (Files.exists(file)) {
                throw new TlsException("%s exists and is not overwritten; move it away first".formatted(file));
            }
        }
    }

    private static void write(FileChannel channel, String text) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
        channel.force(true);
    }
}
