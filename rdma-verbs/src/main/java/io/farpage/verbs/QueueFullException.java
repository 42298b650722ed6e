package io.farpage.verbs;

/** A work request was prepared on a full queue (ENOMEM). Nothing was added. */
public final class QueueFullException extends VerbsException {
    private static final long serialVersionUID = 1L;
    private static final int ENOMEM = 12;

    /** @param option name of the option that sets the capacity, such as {@code max_send_wr} */
    public QueueFullException(String queuePair, String option, int capacity) {
        super(
                "queue of " + queuePair + " is full: " + capacity
                        + " work requests outstanding; poll its completion queue, or raise " + option + " (" + capacity
                        + ")",
                ENOMEM);
    }
}
