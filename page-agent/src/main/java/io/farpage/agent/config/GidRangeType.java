package io.farpage.agent.config;

import io.farpage.config.ValueType;
import io.farpage.verbs.GidRange;

/** An address or a prefix of addresses, IPv4 or IPv6. */
final class GidRangeType implements ValueType<GidRange> {
    @Override
    public String name() {
        return "prefix";
    }

    @Override
    public String allowed() {
        return "an address or GID, or a prefix such as 10.0.0.0/8 or fe80::/10 without bits set behind it";
    }

    @Override
    public GidRange parse(String text) {
        return GidRange.parse(text);
    }
}
