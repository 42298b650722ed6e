package io.farpage.guest.command;

import io.farpage.config.Quantities;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Byte quantities such as 4KiB. */
public final class ByteSize implements ITypeConverter<Long> {
    @Override
    public Long convert(String text) {
        try {
            return Quantities.bytes(text);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException("'" + text + "' is not a size such as 4KiB");
        }
    }
}
