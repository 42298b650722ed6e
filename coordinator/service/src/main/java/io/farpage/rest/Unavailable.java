package io.farpage.rest;

/**
 * An exception that is no fault of the program: the service cannot do its work at the moment. Answered with status 503.
 */
public interface Unavailable {

    /** The kind of problem in lower case with hyphens. */
    String word();

    /** What is wrong, and the fix. */
    String detail();
}
