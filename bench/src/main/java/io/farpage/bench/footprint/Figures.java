package io.farpage.bench.footprint;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleUnaryOperator;

/** Figures of an agent at one moment, or the difference of two moments. */
record Figures(Map<Measure, Double> values) {
    Figures {
        values = new EnumMap<>(values);
    }

    /** What these have in addition to others; a figure that one of them lacks is left out. */
    Figures minus(Figures others) {
        Map<Measure, Double> difference = new EnumMap<>(Measure.class);
        values.forEach((measure, value) -> {
            Double other = others.values.get(measure);
            if (other != null) {
                difference.put(measure, value - other);
            }
        });
        return new Figures(difference);
    }

    /** The median of each measure; all have the same measures. */
    static Figures median(List<Figures> all) {
        Map<Measure, Double> medians = new EnumMap<>(Measure.class);
        for (Measure measure : all.getFirst().values.keySet()) {
            medians.put(
                    measure,
                    median(all.stream()
                            .mapToDouble(one -> one.values.getOrDefault(measure, Double.NaN))
                            .toArray()));
        }
        return new Figures(medians);
    }

    static double median(double... values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }

    /** The share of one of {@code count}. */
    Figures dividedBy(double count) {
        return map(value -> value / count);
    }

    private Figures map(DoubleUnaryOperator operator) {
        Map<Measure, Double> mapped = new EnumMap<>(Measure.class);
        values.forEach((measure, value) -> mapped.put(measure, operator.applyAsDouble(value)));
        return new Figures(mapped);
    }

    /** Some of them. */
    Figures only(Measure... wanted) {
        Map<Measure, Double> some = new EnumMap<>(Measure.class);
        for (Measure measure : wanted) {
            Double value = values.get(measure);
            if (value != null) {
                some.put(measure, value);
            }
        }
        return new Figures(some);
    }

    /** These and others, which replace those of the same measure. */
    Figures with(Figures others) {
        Map<Measure, Double> both = new EnumMap<>(Measure.class);
        both.putAll(values);
        both.putAll(others.values);
        return new Figures(both);
    }
}
