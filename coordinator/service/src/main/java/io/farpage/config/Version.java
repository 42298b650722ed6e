package io.farpage.config;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;
import java.util.Properties;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** The version of farpage, as the build has it; printed by {@code --version} after the name of the program. */
public final class Version implements IVersionProvider {
    @Spec
    private @Nullable CommandSpec spec;

    /** Such as {@code 0.1.0}. */
    public static String text() {
        Properties properties = new Properties();
        try (InputStream in = Version.class.getResourceAsStream("version.properties")) {
            if (in != null) {
                properties.load(in);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return properties.getProperty("version", "unknown");
    }

    @Override
    public String[] getVersion() {
        return new String[] {Objects.requireNonNull(spec).root().name() + " " + text()};
    }
}
