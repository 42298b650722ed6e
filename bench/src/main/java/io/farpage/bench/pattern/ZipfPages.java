package io.farpage.bench.pattern;

/**
 * Zipf by rejection-inversion (W. Hörmann and G. Derflinger, <i>Rejection-inversion to generate variates from monotone
 * discrete distributions</i>, 1996): no table however many pages there are, and about one draw per number.
 *
 * <p>Popular pages are spread over the space, as they are in a guest: rank r is page r · stride mod pages, with a
 * stride that has no divisor in common with the number of pages and so gives every rank a page of its own.
 */
final class ZipfPages implements PageNumbers {
    private static final double GOLDEN_SECTION = 0.6180339887498949;

    private final long pages;
    private final double exponent;
    private final double integralOfFirst;
    private final double integralOfLast;
    private final double shortcut;
    private final long stride;
    private final Xorshift random;

    ZipfPages(long pages, long seed, double exponent) {
        if (!(exponent >= 0.01 && exponent <= 10)) {
            throw new IllegalArgumentException("zipf exponent " + exponent + "; must be from 0.01 to 10");
        }
        this.pages = pages;
        this.exponent = exponent;
        this.integralOfFirst = integral(1.5) - 1;
        this.integralOfLast = integral(pages + 0.5);
        this.shortcut = 2 - integralInverse(integral(2.5) - density(2));
        this.stride = strideFor(pages);
        this.random = new Xorshift(seed);
    }

    @Override
    public long next() {
        return pageOfRank(rank());
    }

    /** The page that comes up most often but for {@code rank} others. */
    long pageOfRank(long rank) {
        return rank * stride % pages;
    }

    private long rank() {
        while (true) {
            double u = integralOfLast + random.nextUnit() * (integralOfFirst - integralOfLast);
            double x = integralInverse(u);
            double rank = Math.clamp(Math.floor(x + 0.5), 1.0, (double) pages);
            if (rank - x <= shortcut || u >= integral(rank + 0.5) - density(rank)) {
                return (long) rank - 1;
            }
        }
    }

    /** x<sup>-exponent</sup>. */
    private double density(double x) {
        return Math.exp(-exponent * Math.log(x));
    }

    /** The integral of the density from 1 to x; written so that it also holds for an exponent of 1. */
    private double integral(double x) {
        double logX = Math.log(x);
        return expm1Over((1 - exponent) * logX) * logX;
    }

    private double integralInverse(double y) {
        double t = Math.max(-1, y * (1 - exponent)); // rounding may carry it just below -1
        return Math.exp(log1pOver(t) * y);
    }

    private static double log1pOver(double x) {
        return Math.abs(x) > 1e-8 ? Math.log1p(x) / x : 1 - x * (0.5 - x * (1.0 / 3 - x * 0.25));
    }

    private static double expm1Over(double x) {
        return Math.abs(x) > 1e-8 ? Math.expm1(x) / x : 1 + x * 0.5 * (1 + x * (1.0 / 3) * (1 + x * 0.25));
    }

    private static long strideFor(long pages) {
        long stride = (long) (pages * GOLDEN_SECTION) | 1;
        while (greatestCommonDivisor(stride, pages) != 1) {
            stride += 2;
        }
        return stride;
    }

    private static long greatestCommonDivisor(long a, long b) {
        while (b != 0) {
            long rest = a % b;
            a = b;
            b = rest;
        }
        return a;
    }
}
