package io.farpage.bench.fault;

import java.util.Arrays;
import java.util.stream.Collectors;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A case by the name that reports give it. */
final class CaseName implements ITypeConverter<FaultCase> {
    @Override
    public FaultCase convert(String value) {
        return Arrays.stream(FaultCase.values())
                .filter(known -> known.label().equals(value))
                .findFirst()
                .orElseThrow(() -> new TypeConversionException("'" + value + "' is not a case; must be one of "
                        + Arrays.stream(FaultCase.values())
                                .map(FaultCase::label)
                                .collect(Collectors.joining(", "))));
    }
}
