package io.farpage.audit;

/** The audit is required and cannot be written, so the act is not done. */
public final class AuditUnavailableException extends Exception {

    private static final long serialVersionUID = 1L;

    AuditUnavailableException(String message) {
        super(message);
    }

    /** What is wrong, and the fix. */
    public String reason() {
        return String.valueOf(getMessage());
    }
}
