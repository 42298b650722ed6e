package io.farpage.coordinator.store;

import io.farpage.rest.Unavailable;

/** The store cannot be opened, read or written; the message names the file and the fix. */
public final class StoreException extends RuntimeException implements Unavailable {

    private static final long serialVersionUID = 1L;

    /** Creates it. */
    public StoreException(String message, Throwable cause) {
        super(message, cause);
    }

    /** Creates it. */
    public StoreException(String message) {
        super(message);
    }

    @Override
    public String word() {
        return "store-failed";
    }

    @Override
    public String detail() {
        return String.valueOf(getMessage());
    }
}
