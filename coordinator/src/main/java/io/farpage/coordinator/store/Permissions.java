package io.farpage.coordinator.store;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/** Access for the coordinator's user alone: the store names every node, key and page of the cluster. */
final class Permissions {

    static final FileAttribute<Set<PosixFilePermission>> DIRECTORY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    static final FileAttribute<Set<PosixFilePermission>> FILE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

    private Permissions() {}

    /**
     * Makes a directory that does not exist, for this user alone; leaves one that does as it is, for it may hold other
     * things.
     */
    static void makeDirectory(Path directory) throws IOException {
        if (Files.isDirectory(directory)) {
            return;
        }
        if (directory.getParent() != null) {
            Files.createDirectories(directory.getParent());
        }
        Files.createDirectory(directory, DIRECTORY);
    }

    /** Makes a file that does not exist, and removes the access of other users to one that does. */
    static void makePrivate(Path file) throws IOException {
        if (Files.exists(file)) {
            Files.setPosixFilePermissions(file, FILE.value());
        } else {
            Files.createFile(file, FILE);
        }
    }
}
