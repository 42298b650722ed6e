package io.farpage.site;

import java.io.IOException;
import java.nio.file.Path;

/** {@code java io.farpage.site.Main ROOT OUTPUT}. */
final class Main {
    private Main() {}

    public static void main(String[] args) throws IOException {
        if (args.length != 2) {
            System.err.println("usage: ROOT-OF-THE-REPOSITORY OUTPUT-DIRECTORY");
            System.exit(2);
        }
        Path output = Path.of(args[1]).toAbsolutePath().normalize();
        int pages = new Site(Path.of(args[0]).toAbsolutePath().normalize(), output).write();
        System.out.printf("%d pages: %s%n", pages, output.resolve("index.html"));
    }
}
