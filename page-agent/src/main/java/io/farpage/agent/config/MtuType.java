package io.farpage.agent.config;

import io.farpage.config.ValueType;
import io.farpage.verbs.Mtu;

/** A path MTU in bytes. */
final class MtuType implements ValueType<Integer> {
    @Override
    public String name() {
        return "choice";
    }

    @Override
    public String allowed() {
        return "256, 512, 1024, 2048 or 4096";
    }

    @Override
    public Integer parse(String text) {
        for (Mtu mtu : Mtu.values()) {
            if (text.equals(Integer.toString(mtu.bytes()))) {
                return mtu.bytes();
            }
        }
        throw new IllegalArgumentException("");
    }
}
