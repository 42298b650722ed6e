package io.farpage.coordinator.api;

import io.farpage.access.Access;
import io.farpage.coordinator.cluster.Digest;
import io.farpage.rest.Operation;
import io.farpage.rest.Route;
import io.javalin.http.Context;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;

/**
 * The dashboard: static files without data, which ask the API for what they show. A browser runs only scripts and
 * styles of this service.
 */
final class Dashboard {

    /** Where the files of the page are. */
    static final String FILES = "/dashboard/";

    private static final String POLICY =
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri"
                    + " 'none'; form-action 'none'; frame-ancestors 'none'";
    private static final int NOT_MODIFIED = 304;

    private Dashboard() {}

    /** The page and its files. */
    static List<Route> routes() {
        return List.of(
                file("/", "index.html", "text/html", "The dashboard"),
                file(FILES + "style.css", "style.css", "text/css", "How the dashboard looks"),
                file(FILES + "icon.svg", "icon.svg", "image/svg+xml", "The dashboard's icon"),
                file(FILES + "guest.html", "guest.html", "text/html", "The page of a guest"),
                script("main.js", "Keeps the dashboard up to date"),
                script("coordinator.js", "Asks the coordinator for the dashboard"),
                script("views.js", "Draws the parts of the dashboard"),
                script("extents.js", "Draws where extents live"),
                script("guest.js", "Keeps the page of a guest up to date"),
                script("histories.js", "Keeps the figures that the coordinator has sent"),
                script("charts.js", "Draws the last 15 minutes"),
                script("faults.js", "Draws how guests fault"),
                script("pagemap.js", "Draws where the pages of a guest are"),
                script("coherent.js", "Draws how coherent spaces are shared"),
                script("dom.js", "Makes the dashboard's elements"));
    }

    private static Route script(String name, String summary) {
        return file(FILES + name, name, "text/javascript", summary);
    }

    private static Route file(String path, String name, String mediaType, String summary) {
        byte[] content = read(name);
        String tag = "\"" + Digest.of(content) + "\"";
        // A page without data; what it shows it asks for.
        var operation = Operation.getText(path, Access.anyone(), mediaType).summary(summary);
        return new Route(operation, ctx -> answer(ctx, content, mediaType, tag));
    }

    private static void answer(Context ctx, byte[] content, String mediaType, String tag) {
        ctx.header("Content-Security-Policy", POLICY)
                .header("X-Content-Type-Options", "nosniff")
                .header("Referrer-Policy", "no-referrer")
                .header("Cache-Control", "no-cache")
                .header("ETag", tag);
        if (tag.equals(ctx.header("If-None-Match"))) {
            ctx.status(NOT_MODIFIED);
        } else {
            ctx.contentType(mediaType + "; charset=utf-8").result(content);
        }
    }

    private static byte[] read(String name) {
        try (InputStream in = Dashboard.class.getResourceAsStream("dashboard/" + name)) {
            if (in == null) {
                throw new IllegalStateException("dashboard/" + name + " is missing from the class path");
            }
            return in.readAllBytes();
        } catch (IOException e) {
            throw new IllegalStateException("dashboard/" + name + " cannot be read", e);
        }
    }
}
