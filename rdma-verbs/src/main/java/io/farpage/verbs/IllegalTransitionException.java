package io.farpage.verbs;

/** A queue pair was asked to move between two states that are not neighbours. */
public final class IllegalTransitionException extends VerbsException {
    private static final long serialVersionUID = 1L;

    public IllegalTransitionException(String queuePair, QpState from, QpState to) {
        super("modify_qp(" + from + "→" + to + ") on " + queuePair
                + ": not a legal transition; the order is RESET→INIT→RTR→RTS, and ERR or RESET from anywhere");
    }
}
