package io.farpage.verbs.soft;

import io.farpage.verbs.Device;
import io.farpage.verbs.VerbsProvider;
import io.farpage.verbs.contract.VerbsFixture;

/** Two soft devices on the loopback interface. */
public record SoftFixture(Device a, Device b) implements VerbsFixture {
    static SoftFixture open() {
        return open(SoftOptions.DEFAULT);
    }

    static SoftFixture open(SoftOptions options) {
        SoftProvider provider = new SoftProvider(options);
        return new SoftFixture(provider.open(SoftProvider.DEVICE), provider.open(SoftProvider.DEVICE));
    }

    @Override
    public Class<? extends VerbsProvider> provider() {
        return SoftProvider.class;
    }

    @Override
    public void close() {
        a.close();
        b.close();
    }
}
