package io.farpage.config;

import java.time.Duration;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads an option that is a duration with a unit, such as {@code 15m}. */
public final class DurationOption implements ITypeConverter<Duration> {
    @Override
    public Duration convert(String text) {
        try {
            Duration value = Quantities.duration(text);
            if (value.isZero() || value.isNegative()) {
                throw new TypeConversionException("'" + text + "' is not longer than nothing");
            }
            return value;
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException(
                    "'%s' is not a duration, such as 15m or 90d: %s".formatted(text, e.getMessage()));
        }
    }
}
