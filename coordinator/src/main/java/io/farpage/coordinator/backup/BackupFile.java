package io.farpage.coordinator.backup;

import io.farpage.coordinator.model.StoreCopy;
import io.farpage.coordinator.store.Sha256;
import io.farpage.rest.Json;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tools.jackson.core.JacksonException;

/**
 * The text of a backup: a line with format, version, length and SHA-256 of what follows, and then the store's rows as
 * JSON. The digest finds damage. It does not protect against an attacker.
 */
public final class BackupFile {

    /** The version that this program writes, and the only one that it reads. */
    static final int VERSION = 2;

    private static final String FORMAT = "farpage-coordinator-backup";
    private static final Pattern HEADER =
            Pattern.compile(FORMAT + " version ([0-9]{1,9})(?: bytes ([0-9]{1,18}) sha256 ([0-9a-f]{64}))?.*");
    private static final int LONGEST_HEADER = 256;

    private BackupFile() {}

    /** The text of a backup. */
    public static String text(StoreCopy copy) {
        byte[] body = Json.STRICT.writeValueAsBytes(copy);
        return "%s version %d bytes %d sha256 %s\n%s"
                .formatted(FORMAT, VERSION, body.length, sha256(body, 0), new String(body, StandardCharsets.UTF_8));
    }

    /**
     * Reads a whole backup.
     *
     * @throws BackupException if the file cannot be read, is not a backup, is of another version, is damaged or lost
     *     its end
     */
    public static StoreCopy read(Path file) {
        byte[] bytes;
        try {
            bytes = Files.readAllBytes(file);
        } catch (IOException e) {
            throw new BackupException("backup %s cannot be read: %s".formatted(file, e), e);
        }
        int start = endOfHeader(file, bytes);
        Matcher header = HEADER.matcher(new String(bytes, 0, start - 1, StandardCharsets.UTF_8));
        if (!header.matches()) {
            throw new BackupException(
                    ("%s is not a backup of a coordinator: its first line is not that of one; name a file that"
                                    + " 'coordinator backup' has written")
                            .formatted(file));
        }
        int version = Integer.parseInt(header.group(1));
        if (version != VERSION) {
            throw new BackupException(
                    ("backup %s has version %d, and this program reads version %d; restore it with the program that"
                                    + " made it, or a newer one")
                            .formatted(file, version, VERSION));
        }
        if (header.group(2) == null) {
            throw damaged(file, "its first line lacks length and digest");
        }
        check(file, bytes, start, header);
        StoreCopy copy = parse(file, new String(bytes, start, bytes.length - start, StandardCharsets.UTF_8));
        List<String> unknown = Rows.unknownTables(copy);
        if (!unknown.isEmpty()) {
            throw new BackupException(
                    ("backup %s has the table '%s', which this program does not know; restore it with the program that"
                                    + " made it, or a newer one")
                            .formatted(file, unknown.getFirst()));
        }
        return copy;
    }

    private static StoreCopy parse(Path file, String rows) {
        try {
            return Json.STRICT.readValue(rows, StoreCopy.class);
        } catch (JacksonException e) {
            throw new BackupException(
                    "backup %s is not what a coordinator writes: %s; make it with 'coordinator backup'"
                            .formatted(file, e.getOriginalMessage()),
                    e);
        }
    }

    private static int endOfHeader(Path file, byte[] bytes) {
        for (int i = 0; i < Math.min(bytes.length, LONGEST_HEADER); i++) {
            if (bytes[i] == '\n') {
                return i + 1;
            }
        }
        throw new BackupException(
                ("%s is not a backup of a coordinator, or has lost its end: it has no first line; name a file that"
                                + " 'coordinator backup' has written")
                        .formatted(file));
    }

    private static void check(Path file, byte[] bytes, int start, Matcher header) {
        long expected = Long.parseLong(header.group(2));
        int found = bytes.length - start;
        if (found != expected) {
            throw damaged(file, "it has %d bytes after its first line, and %d were written".formatted(found, expected));
        }
        if (!sha256(bytes, start).equals(header.group(3))) {
            throw damaged(file, "its SHA-256 is not that of what was written");
        }
    }

    private static BackupException damaged(Path file, String how) {
        return new BackupException(
                "backup %s is damaged: %s; take another copy. Nothing was changed".formatted(file, how));
    }

    private static String sha256(byte[] bytes, int from) {
        MessageDigest digest = Sha256.begin();
        digest.update(bytes, from, bytes.length - from);
        return HexFormat.of().formatHex(digest.digest());
    }
}
