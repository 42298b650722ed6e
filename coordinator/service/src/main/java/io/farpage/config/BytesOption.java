package io.farpage.config;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads an option that is a number of bytes with a unit, such as {@code 512MiB}. */
public final class BytesOption implements ITypeConverter<Long> {
    private static final long MAX_BYTES = 1L << 48;

    @Override
    public Long convert(String value) {
        try {
            return ValueTypes.bytes(1, MAX_BYTES).parse(value);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException("'" + value + "' is not a size: " + e.getMessage());
        }
    }
}
