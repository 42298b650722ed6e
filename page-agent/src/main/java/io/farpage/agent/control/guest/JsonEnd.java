package io.farpage.agent.control.guest;

/**
 * Finds where a JSON array ends in bytes that arrive piece by piece: at the bracket that closes the array. Bytes that
 * do not begin an array end at once, since further bytes cannot make them one. The parser checks everything else.
 */
final class JsonEnd {
    private long depth;
    private boolean inString;
    private boolean escaped;
    private boolean ended;

    /** Whether the array ends with the next byte, which is not consumed. */
    boolean endsWith(byte next) {
        return !inString && depth == 1 && (next == ']' || next == '}');
    }

    /** Consumes the next byte. Returns whether the text ends with it, or has ended before. */
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
