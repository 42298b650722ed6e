package io.farpage.it.harness;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Pictures of pages for people, made if {@code -Dfarpage.pictures=DIRECTORY} says where to put them. */
public final class Pictures {
    private static final Optional<Path> DIRECTORY =
            Optional.ofNullable(System.getProperty("farpage.pictures")).map(Path::of);

    private Pictures() {}

    /** Whether pictures are wanted. */
    public static boolean areWanted() {
        return DIRECTORY.isPresent();
    }

    /** Takes a picture of the page that is open, in light and in dark colours. */
    public static void take(Chromium browser, String name) throws IOException {
        if (DIRECTORY.isEmpty()) {
            return;
        }
        Files.createDirectories(DIRECTORY.get());
        for (String scheme : new String[] {"light", "dark"}) {
            browser.prefer(scheme);
            Files.write(DIRECTORY.get().resolve(name + "-" + scheme + ".png"), browser.picture());
        }
    }
}
