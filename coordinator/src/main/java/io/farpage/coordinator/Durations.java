package io.farpage.coordinator;

import io.farpage.config.Quantities;
import java.time.Duration;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads a duration, such as {@code 15m}, from an option. */
final class Durations implements ITypeConverter<Duration> {

    Durations() {}

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
                    "'%s' is no duration, such as 15m or 90d: %s".formatted(text, e.getMessage()));
        }
    }
}
