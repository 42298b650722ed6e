package io.farpage.progress;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What is written of a progress.
 *
 * @param label what goes on
 * @param percent 0 to 100; empty while the total is not known
 * @param amount done, and of what total
 * @param rate at which it grows
 * @param elapsed time since the beginning, which only lines without a bar tell
 * @param left time that the rest takes, if that can be told
 */
record Rendering(
        String label, Optional<Integer> percent, String amount, String rate, String elapsed, Optional<String> left) {
    private static final int LONGEST_BAR = 40;
    private static final int SHORTEST_BAR = 8;
    private static final String GAP = "  ";

    /** One line without a bar, for a log. */
    String text() {
        List<String> facts = facts(true, true);
        facts.add(facts.size() - (left.isPresent() ? 1 : 0), elapsed + " elapsed");
        return label + ": " + String.join(", ", facts);
    }

    /**
     * One line with a bar that fits into a terminal. What does not fit is left out: first the bar, then the rate, then
     * the time, and then the end of the line.
     *
     * @param columns of the terminal; the last one stays free, since some terminals wrap a line that fills it
     */
    String bar(int columns) {
        int room = Math.max(1, columns - 1);
        String all = line("", true, true);
        int bar = Math.min(LONGEST_BAR, room - all.length() - GAP.length() - 2);
        if (percent.isPresent() && bar >= SHORTEST_BAR) {
            return line(bar(percent.get(), bar), true, true);
        }
        for (String shorter : List.of(all, line("", false, true), line("", false, false))) {
            if (shorter.length() <= room) {
                return shorter;
            }
        }
        return all.substring(0, Math.min(room, all.length()));
    }

    private String line(String bar, boolean withRate, boolean withLeft) {
        List<String> parts = new ArrayList<>(List.of(label));
        if (!bar.isEmpty()) {
            parts.add(bar);
        }
        parts.addAll(facts(withRate, withLeft));
        return String.join(GAP, parts);
    }

    private List<String> facts(boolean withRate, boolean withLeft) {
        List<String> facts = new ArrayList<>();
        percent.ifPresent(value -> facts.add(value + " %"));
        facts.add(amount);
        if (withRate) {
            facts.add(rate);
        }
        if (withLeft) {
            left.ifPresent(time -> facts.add(time + " left"));
        }
        return facts;
    }

    private static String bar(int percent, int width) {
        int full = width * percent / 100;
        return "[" + "#".repeat(full) + ".".repeat(width - full) + "]";
    }

    /** A time for people, in its two largest units. */
    static String time(long seconds) {
        if (seconds < 60) {
            return seconds + " s";
        }
        if (seconds < 3600) {
            return "%d min %02d s".formatted(seconds / 60, seconds % 60);
        }
        return seconds < 86_400
                ? "%d h %02d min".formatted(seconds / 3600, seconds / 60 % 60)
                : "%d d %02d h".formatted(seconds / 86_400, seconds / 3600 % 24);
    }
}
