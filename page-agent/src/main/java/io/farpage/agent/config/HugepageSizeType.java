package io.farpage.agent.config;

import io.farpage.config.ValueType;
import io.farpage.pool.hugepages.HugepageSize;

/** {@code 2MiB} or {@code 1GiB}. */
final class HugepageSizeType implements ValueType<HugepageSize> {
    @Override
    public String name() {
        return "choice";
    }

    @Override
    public String allowed() {
        return "2MiB or 1GiB";
    }

    @Override
    public HugepageSize parse(String text) {
        return switch (text) {
            case "2MiB" -> HugepageSize.TWO_MIB;
            case "1GiB" -> HugepageSize.ONE_GIB;
            default -> throw new IllegalArgumentException("");
        };
    }
}
