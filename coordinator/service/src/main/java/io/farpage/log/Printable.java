package io.farpage.log;

/** Makes text printable on one line. Thread-safe. */
public final class Printable {
    private Printable() {}

    /**
     * The text with every control character, line separator and invisible format character written as an escape, such
     * as {@code \n} or {@code \}{@code u001b}. A backslash stays as it is.
     */
    public static String of(String text) {
        int at = firstToEscape(text);
        if (at < 0) {
            return text;
        }
        StringBuilder printable = new StringBuilder(text.length() + 16).append(text, 0, at);
        for (; at < text.length(); at++) {
            append(printable, text.charAt(at));
        }
        return printable.toString();
    }

    /**
     * As {@link #of(String)}. A longer text is cut and ends with "…".
     *
     * @param longest characters of {@code text} that are kept, at least 1
     */
    public static String of(String text, int longest) {
        return text.length() <= longest ? of(text) : of(text.substring(0, longest)) + "…";
    }

    private static int firstToEscape(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (isEscaped(text.charAt(i))) {
                return i;
            }
        }
        return -1;
    }

    private static boolean isEscaped(char c) {
        if (c >= ' ' && c < 0x7f) {
            return false;
        }
        return switch (Character.getType(c)) {
            case Character.CONTROL, Character.FORMAT, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR -> true;
            default -> false;
        };
    }

    private static void append(StringBuilder printable, char c) {
        if (!isEscaped(c)) {
            printable.append(c);
            return;
        }
        switch (c) {
            case '\n' -> printable.append("\\n");
            case '\r' -> printable.append("\\r");
            case '\t' -> printable.append("\\t");
            default -> printable.append("\\u%04x".formatted((int) c));
        }
    }
}
