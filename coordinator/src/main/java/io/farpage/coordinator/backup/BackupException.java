package io.farpage.coordinator.backup;

/** A backup cannot be read or restored; the message names the file or store, what is wrong and the fix. */
public final class BackupException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    BackupException(String message) {
        super(message);
    }

    BackupException(String message, Throwable cause) {
        super(message, cause);
    }
}
