package io.farpage.bench.agents;

import io.farpage.bench.agents.Simulation.Cause;
import io.farpage.bench.agents.SimulationSeries.Row;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * Draws what an event costs against the number of agents, both on logarithmic axes: requests, bytes and CPU side by
 * side.
 */
final class SimulationChart {
    private static final int WIDTH = 360;
    private static final int HEIGHT = 300;
    private static final int MARGIN = 50;
    private static final int LEGEND = 90;
    private static final double DECADES = 11;
    private static final double DECADES_OF_AGENTS = 4;
    private static final List<String> COLOURS = List.of("#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#b8860b");

    private SimulationChart() {}

    static String svg(SimulationSeries series) {
        StringBuilder svg = new StringBuilder();
        svg.append(("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\""
                        + " font-family=\"sans-serif\" font-size=\"11\">\n")
                .formatted(3 * WIDTH, HEIGHT + LEGEND));
        svg.append("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
        panel(svg, 0, "requests per event", series, Row::requests);
        panel(svg, 1, "bytes per event", series, Row::bytes);
        panel(svg, 2, "CPU per event, microseconds", series, Row::cpuMicros);
        legend(svg);
        return svg.append("</svg>\n").toString();
    }

    private static void panel(
            StringBuilder svg, int number, String title, SimulationSeries series, ToDoubleFunction<Row> value) {
        svg.append("<g transform=\"translate(%d,0)\">\n".formatted(number * WIDTH));
        svg.append("<text x=\"%d\" y=\"20\" font-size=\"13\">%s, by agents</text>\n".formatted(MARGIN, title));
        for (int decade = 0; decade <= DECADES; decade++) {
            double y = y(Math.pow(10, decade));
            svg.append("<path d=\"M%d %s H%d\" stroke=\"#ddd\"/>\n".formatted(MARGIN, number(y), WIDTH - 10));
            svg.append("<text x=\"8\" y=\"%s\">1e%d</text>\n".formatted(number(y + 4), decade));
        }
        for (int decade = 1; decade <= DECADES_OF_AGENTS; decade++) {
            double x = x(Math.pow(10, decade));
            svg.append("<text x=\"%s\" y=\"%d\" text-anchor=\"middle\">1e%d</text>\n"
                    .formatted(number(x), HEIGHT - MARGIN + 32, decade));
        }
        for (Links links : Links.values()) {
            for (Cause cause : Cause.values()) {
                curve(svg, links, cause, series, value);
            }
        }
        svg.append("</g>\n");
    }

    private static void curve(
            StringBuilder svg, Links links, Cause cause, SimulationSeries series, ToDoubleFunction<Row> value) {
        StringBuilder path = new StringBuilder();
        for (Row row : series.rows()) {
            if (row.links() == links && row.cause() == cause) {
                path.append(path.isEmpty() ? "M" : " L")
                        .append(number(x(row.agents())))
                        .append(' ')
                        .append(number(y(value.applyAsDouble(row))));
            }
        }
        svg.append("<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s/>\n"
                .formatted(path, COLOURS.get(cause.ordinal()), dashes(links)));
    }

    private static String dashes(Links links) {
        return links == Links.MESH ? " stroke-dasharray=\"5,4\"" : "";
    }

    private static void legend(StringBuilder svg) {
        for (Links links : Links.values()) {
            for (Cause cause : Cause.values()) {
                int x = MARGIN + cause.ordinal() * 180;
                int y = HEIGHT + 20 + links.ordinal() * 25;
                svg.append("<path d=\"M%d %d h30\" stroke=\"%s\" stroke-width=\"2\"%s/>\n"
                        .formatted(x, y, COLOURS.get(cause.ordinal()), dashes(links)));
                svg.append("<text x=\"%d\" y=\"%d\">%s, %s</text>\n"
                        .formatted(
                                x + 36,
                                y + 4,
                                cause.name().toLowerCase(Locale.ROOT),
                                links == Links.MESH ? "mesh, unfiltered" : "demand"));
            }
        }
    }

    private static double x(double agents) {
        return MARGIN + (Math.log10(Math.max(1, agents)) - 0.5) / DECADES_OF_AGENTS * (WIDTH - MARGIN - 10);
    }

    private static double y(double value) {
        double part = Math.clamp(Math.log10(Math.max(1, value)) / DECADES, 0, 1);
        return HEIGHT - MARGIN + 12 - part * (HEIGHT - MARGIN - 24);
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }
}
