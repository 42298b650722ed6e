package io.farpage.site;

/** What surrounds the content of each page: head, list of pages, style. */
final class Layout {
    static final String STYLE = "style.css";

    private final Contents contents;
    private final Targets targets;

    Layout(Contents contents, Targets targets) {
        this.contents = contents;
        this.targets = targets;
    }

    /**
     * A whole page.
     *
     * @param address of the page in the site
     * @param title of the page
     * @param content HTML
     */
    String page(String address, String title, String content) {
        return """
                <!DOCTYPE html>
                <html lang="en">
                <head>
                <meta charset="utf-8">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <meta name="color-scheme" content="light dark">
                <meta http-equiv="Content-Security-Policy" \
                content="default-src 'none'; style-src 'self'; img-src 'self' data:">
                <title>%s · farpage</title>
                <link rel="stylesheet" href="%s">
                <link rel="icon" href="data:,">
                </head>
                <body>
                <a class="skip" href="#content">To the content</a>
                <nav aria-label="Pages">
                <p><a href="%s">farpage</a></p>
                %s</nav>
                <main id="content">
                %s</main>
                </body>
                </html>
                """.formatted(
                        escape(title),
                        Targets.relative(address, STYLE),
                        Targets.relative(address, "index.html"),
                        navigation(address),
                        content);
    }

    private String navigation(String address) {
        StringBuilder html = new StringBuilder();
        for (Contents.Group group : contents.groups()) {
            html.append("<p>").append(escape(group.title())).append("</p>\n<ul>\n");
            for (Contents.Entry entry : group.entries()) {
                String target = targets.page(entry.source());
                html.append("<li><a href=\"%s\"%s>%s</a></li>\n"
                        .formatted(
                                Targets.relative(address, target),
                                target.equals(address) ? " aria-current=\"page\"" : "",
                                escape(entry.title())));
            }
            html.append("</ul>\n");
        }
        return html.toString();
    }

    static String escape(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }
}
