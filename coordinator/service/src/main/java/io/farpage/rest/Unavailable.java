package io.farpage.rest;

/**
 * An exception without a fault in the program: the service cannot do its work at the moment. The status is 503.
 */
public interface Unavailable {

    /** The kind of problem in lower case with hyphens. */
    String word();

    /** What is wrong, and the fix. */
    String detail();
}
