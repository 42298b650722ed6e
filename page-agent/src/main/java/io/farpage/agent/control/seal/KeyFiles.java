package io.farpage.agent.control.seal;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Keys in files: every {@code *.key} of a directory, each with one key. A file that others than its owner may read is
 * refused. New spaces take {@code default.key}, or the only key.
 */
final class KeyFiles implements KeySource {
    private static final String DEFAULT = "default.key";
    private static final int MAX_BYTES = 128;
    private static final Set<PosixFilePermission> OWNER =
            EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE);

    private final Path directory;

    KeyFiles(Path directory) {
        this.directory = directory;
    }

    @Override
    public SpaceKey current() throws SealException {
        Path preferred = directory.resolve(DEFAULT);
        if (Files.exists(preferred)) {
            return read(preferred);
        }
        List<Path> files = files();
        if (files.size() != 1) {
            throw new SealException(
                    files.isEmpty()
                            ? "%s (seal.keys) has no key; make one: (umask 077; openssl rand -hex 32 > %s)"
                                    .formatted(directory, preferred)
                            : "%s (seal.keys) has %d keys and no %s; name the one for new spaces so"
                                    .formatted(directory, files.size(), DEFAULT));
        }
        return read(files.getFirst());
    }

    @Override
    public SpaceKey byId(String id) throws SealException {
        for (Path file : files()) {
            SpaceKey key = read(file);
            if (key.id().equals(id)) {
                return key;
            }
            key.close();
        }
        throw new SealException("no file *.key of %s (seal.keys) has the key %s; copy it there, with mode 0600"
                .formatted(directory, id));
    }

    private List<Path> files() throws SealException {
        List<Path> files = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(directory, "*.key")) {
            all.forEach(files::add);
        } catch (IOException e) {
            throw new SealException("%s (seal.keys) cannot be read: %s".formatted(directory, e), e);
        }
        files.sort(null);
        return files;
    }

    private static SpaceKey read(Path file) throws SealException {
        try {
            Set<PosixFilePermission> allowed = Files.getPosixFilePermissions(file);
            if (!OWNER.containsAll(allowed)) {
                throw new SealException("key file %s has the mode %s; a key is its owner's alone: chmod 0600 %s"
                        .formatted(file, PosixFilePermissions.toString(allowed), file));
            }
            if (Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS) || Files.size(file) > MAX_BYTES) {
                throw new SealException(
                        "key file %s is not a file of at most %d bytes; a key is 32 bytes or 64 hex digits"
                                .formatted(file, MAX_BYTES));
            }
            return SpaceKey.read(Files.readAllBytes(file), "key file " + file);
        } catch (IOException e) {
            throw new SealException("key file %s cannot be read: %s".formatted(file, e), e);
        }
    }
}
