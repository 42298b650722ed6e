package io.farpage.rest;

/**
 * An error as RFC 9457 writes it.
 *
 * @param type what kind of problem: {@code about:blank}, or {@code urn:farpage:problem:} and a word that programs may
 *     rely on
 * @param title the kind in words, the same for all of its type
 * @param status of the HTTP answer
 * @param detail what is wrong with this very request, and the fix
 * @param instance path of the request
 */
public record Problem(String type, String title, int status, String detail, String instance) {

    /** The media type of a problem document. */
    public static final String MEDIA_TYPE = "application/problem+json";

    /** What a type begins with. */
    public static final String TYPE_PREFIX = "urn:farpage:problem:";

    /** The word after {@link #TYPE_PREFIX}; "refused" if the type is another's. */
    public String word() {
        return type.startsWith(TYPE_PREFIX) ? type.substring(TYPE_PREFIX.length()) : "refused";
    }

    /** Whether this is of a type, given as the word after {@link #TYPE_PREFIX}. */
    public boolean is(String word) {
        return type.equals(TYPE_PREFIX + word);
    }
}
