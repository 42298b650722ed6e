package io.farpage.progress;

import java.util.Locale;

/** What is counted. */
public sealed interface Unit {
    /** Bytes, written in KiB, MiB, GiB or TiB. */
    Unit BYTES = new Bytes();

    /**
     * Things.
     *
     * @param plural what they are called, such as {@code rounds}
     */
    static Unit of(String plural) {
        return new Things(plural);
    }

    /** How much of a total, such as {@code 1.3 of 3.0 GiB}. */
    String of(long done, long total);

    /** An amount, such as {@code 3.0 GiB}. */
    String amount(long amount);

    /** An amount in a second, or in a minute where that is less than one. */
    String rate(double perSecond);

    /** Bytes. */
    record Bytes() implements Unit {
        private static final String[] SCALES = {"B", "KiB", "MiB", "GiB", "TiB"};

        private static int scale(double bytes) {
            int scale = 0;
            for (double rest = bytes; rest >= 1024 && scale < SCALES.length - 1; rest /= 1024) {
                scale++;
            }
            return scale;
        }

        private static String number(double bytes, int scale) {
            double scaled = bytes / Math.pow(1024, scale);
            return String.format(Locale.ROOT, scale == 0 ? "%.0f" : "%.1f", scaled);
        }

        @Override
        public String of(long done, long total) {
            int scale = scale((double) total);
            return "%s of %s %s".formatted(number((double) done, scale), number((double) total, scale), SCALES[scale]);
        }

        @Override
        public String amount(long amount) {
            int scale = scale((double) amount);
            return number((double) amount, scale) + " " + SCALES[scale];
        }

        @Override
        public String rate(double perSecond) {
            int scale = scale(perSecond);
            return number(perSecond, scale) + " " + SCALES[scale] + "/s";
        }
    }

    /**
     * Things.
     *
     * @param plural what they are called
     */
    record Things(String plural) implements Unit {
        private static final double SECONDS_A_MINUTE = 60;

        @Override
        public String of(long done, long total) {
            return "%d of %d %s".formatted(done, total, plural);
        }

        @Override
        public String amount(long amount) {
            return amount + " " + plural;
        }

        @Override
        public String rate(double perSecond) {
            return perSecond >= 1
                    ? String.format(Locale.ROOT, "%.1f/s", perSecond)
                    : String.format(Locale.ROOT, "%.1f/min", perSecond * SECONDS_A_MINUTE);
        }
    }
}
