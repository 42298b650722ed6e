package io.farpage.audit;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A file that lines are appended to, readable by its owner alone. It is rotated when it would become too large and when
 * a day of UTC begins; rotated files are compressed, and the oldest are deleted. A command may append lines while a
 * service has the file open: a lock on the file keeps the rotation away from a line that is being written. Used by one
 * thread of a process.
 */
final class AuditFile implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(AuditFile.class);
    private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY_DIRECTORY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
    private static final Set<OpenOption> APPEND = Set.of(
            StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND, LinkOption.NOFOLLOW_LINKS);
    private static final DateTimeFormatter STAMP =
            DateTimeFormatter.ofPattern("uuuuMMdd'T'HHmmss.SSS'Z'", Locale.ROOT).withZone(ZoneOffset.UTC);
    private static final int STICKY = 01000;
    private static final String COMPRESSED = ".gz";

    private final Path path;
    private final Limits limits;
    private final Supplier<Instant> clock;
    private @Nullable FileChannel channel;
    private @Nullable Object inode;
    private LocalDate day = LocalDate.EPOCH;

    /**
     * How much is kept.
     *
     * @param maxBytes of the file that is written
     * @param keep rotated files
     */
    record Limits(long maxBytes, int keep) {}

    /**
     * Opens the file, and makes it and its directory if need be.
     *
     * @throws IOException naming the file, if it cannot be written
     */
    static AuditFile open(Path path, Limits limits, Supplier<Instant> clock) throws IOException {
        AuditFile file = new AuditFile(path, limits, clock);
        file.reopen();
        return file;
    }

    private AuditFile(Path path, Limits limits, Supplier<Instant> clock) {
        this.path = path.toAbsolutePath();
        this.limits = limits;
        this.clock = clock;
    }

    /**
     * Appends one line from a command, beside a service that may have the file open.
     *
     * @throws IOException naming the file, if it cannot be written
     */
    static void appendOnce(Path path, byte[] line) throws IOException {
        makeDirectory(directory(path.toAbsolutePath()));
        requireRegular(path);
        while (true) {
            Optional<Identity> before = identity(path);
            try (FileChannel channel = FileChannel.open(path, APPEND, OWNER_ONLY);
                    FileLock lock = channel.lock()) {
                // The lock waits for a rotation, after which the file has another name. A file that was missing before
                // may have been rotated since, too: it exists now, and is looked at again.
                if (lock.isValid() && before.isPresent() && identity(path).equals(before)) {
                    writeFully(channel, line);
                    return;
                }
            } catch (OverlappingFileLockException e) {
                // A service in this process rotates the file.
                Thread.onSpinWait();
            }
        }
    }

    /**
     * Appends a line, to a new file if it is time for one.
     *
     * @throws IOException if it cannot be written; part of it may be, without its end
     */
    void append(byte[] line) throws IOException {
        FileChannel open = current(line.length);
        long size = open.size();
        try {
            writeFully(open, line);
        } catch (IOException e) {
            truncate(open, size);
            throw e;
        }
    }

    /** A line that was written in part would be joined with the next one. */
    private void truncate(FileChannel open, long size) {
        try {
            open.truncate(size);
        } catch (IOException e) {
            // The line stays incomplete; the failure of the write is what is reported.
            forget();
        }
    }

    private FileChannel current(int more) throws IOException {
        FileChannel open = channel;
        // Another program may have moved or removed the file.
        if (open == null || !inode(path).equals(Optional.ofNullable(inode))) {
            open = reopen();
        }
        long size = open.size();
        if (size > 0 && (size + more > limits.maxBytes() || !day.equals(today()))) {
            rotate(open);
            open = reopen();
        }
        return open;
    }

    private FileChannel reopen() throws IOException {
        forget();
        makeDirectory(directory(path));
        requireRegular(path);
        FileChannel open = FileChannel.open(path, APPEND, OWNER_ONLY);
        Files.setPosixFilePermissions(path, OWNER_ONLY.value());
        inode = inode(path).orElse(null);
        day = open.size() == 0 ? today() : lastChange();
        channel = open;
        return open;
    }

    private LocalDate lastChange() throws IOException {
        return LocalDate.ofInstant(Files.getLastModifiedTime(path).toInstant(), ZoneOffset.UTC);
    }

    private LocalDate today() {
        return LocalDate.ofInstant(clock.get(), ZoneOffset.UTC);
    }

    private void rotate(FileChannel open) throws IOException {
        Instant now = clock.get();
        Path rotated = sibling(now);
        while (Files.exists(rotated) || Files.exists(compressed(rotated))) {
            now = now.plusMillis(1);
            rotated = sibling(now);
        }
        try (FileLock _ = open.lock()) {
            Files.move(path, rotated, StandardCopyOption.ATOMIC_MOVE);
        }
        forget();
        for (Path each : rotatedFiles()) {
            if (!each.toString().endsWith(COMPRESSED)) {
                compress(each);
            }
        }
        List<Path> kept = rotatedFiles();
        for (Path old : kept.subList(0, Math.max(0, kept.size() - limits.keep()))) {
            Files.deleteIfExists(old);
        }
    }

    private Path sibling(Instant time) {
        return directory(path).resolve(path.getFileName() + "." + STAMP.format(time));
    }

    private static Path compressed(Path rotated) {
        return rotated.resolveSibling(rotated.getFileName() + COMPRESSED);
    }

    private static void compress(Path rotated) throws IOException {
        Path part = rotated.resolveSibling(rotated.getFileName() + ".part");
        Files.deleteIfExists(part);
        try (InputStream in = Files.newInputStream(rotated);
                FileChannel to = FileChannel.open(
                        part, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), OWNER_ONLY);
                OutputStream out = new GZIPOutputStream(Channels.newOutputStream(to))) {
            in.transferTo(out);
        }
        Files.move(part, compressed(rotated), StandardCopyOption.ATOMIC_MOVE);
        Files.delete(rotated);
    }

    /** The rotated files, oldest first. */
    private List<Path> rotatedFiles() throws IOException {
        Pattern name =
                Pattern.compile(Pattern.quote(path.getFileName().toString()) + "\\.\\d{8}T\\d{6}\\.\\d{3}Z(\\.gz)?");
        try (Stream<Path> all = Files.list(directory(path))) {
            return all.filter(
                            file -> name.matcher(file.getFileName().toString()).matches())
                    .sorted(Comparator.comparing(Path::toString))
                    .toList();
        }
    }

    private static void writeFully(FileChannel channel, byte[] line) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(line);
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    private static Optional<Object> inode(Path path) throws IOException {
        try {
            return Optional.of(Files.getAttribute(path, "unix:ino", LinkOption.NOFOLLOW_LINKS));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    /**
     * Which file has a name. A rotated file is deleted once it is compressed, and the next file may get its inode, but
     * not the time at which it was made.
     */
    private record Identity(Map<String, Object> attributes) {}

    private static Optional<Identity> identity(Path path) throws IOException {
        try {
            return Optional.of(
                    new Identity(Files.readAttributes(path, "unix:ino,creationTime", LinkOption.NOFOLLOW_LINKS)));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    private static Path directory(Path absolute) {
        Path parent = absolute.getParent();
        return parent == null ? absolute : parent;
    }

    private static void makeDirectory(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            Files.createDirectories(directory, OWNER_ONLY_DIRECTORY);
        }
        if (Files.getPosixFilePermissions(directory).contains(PosixFilePermission.OTHERS_WRITE)
                && (mode(directory) & STICKY) == 0) {
            throw new IOException(
                    "all users may change directory %s; choose another one, or 'chmod o-w'".formatted(directory));
        }
    }

    /** A file that is missing, perhaps because another process rotates it at this moment, is made. */
    private static void requireRegular(Path path) throws IOException {
        try {
            if (!Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                    .isRegularFile()) {
                throw new IOException("%s is not a regular file; choose another one".formatted(path));
            }
        } catch (NoSuchFileException e) {
            LOG.debug("{} will be made", path);
        }
    }

    private static int mode(Path directory) throws IOException {
        return (int) Files.getAttribute(directory, "unix:mode");
    }

    private void forget() {
        FileChannel open = channel;
        channel = null;
        inode = null;
        try {
            if (open != null) {
                open.close();
            }
        } catch (IOException e) {
            // Nothing is buffered in this process: what was written is in the file.
            LOG.debug("{} was not closed: {}", path, e.toString());
        }
    }

    @Override
    public void close() {
        forget();
    }
}
