package io.farpage.agent.control.guest;

/**
 * Finds where a JSON array ends in bytes that come piece by piece: at the bracket that closes the first one. Bytes that do not begin an array
 * end at once, since no more of them can make it one. Checks nothing else; the parser does.
 */
final class JsonEnd {
    private long depth;
    private boolean inString;
    private boolean escaped;
    private boolean ended;

    /** Takes the next byte. Returns whether the text ends with it, or has ended before. */
    boolean isAt(byte b) {
        if (ended) {
            return true;
        }
        if (inString) {
            inString = escaped || b != '"';
            escaped = !escaped && b == '\\';
            return false;
        }
        switch (b) {
            case ' ', '\t', '\n', '\r' -> {}
            case '[', '{' -> {
                depth++;
                ended = depth == 1 && b == '{';
            }
            case ']', '}' -> ended = --depth <= 0;
            case '"' -> {
                inString = true;
                ended = depth == 0;
            }
            default -> ended = depth == 0;
        }
        return ended;
    }
}
