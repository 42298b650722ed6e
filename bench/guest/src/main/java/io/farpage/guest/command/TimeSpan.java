package io.farpage.guest.command;

import io.farpage.config.Quantities;
import java.time.Duration;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Durations such as 500ms. */
public final class TimeSpan implements ITypeConverter<Duration> {
    @Override
    public Duration convert(String text) {
        try {
            return Quantities.duration(text);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException("'" + text + "' is not a duration such as 500ms or 5s");
        }
    }
}
