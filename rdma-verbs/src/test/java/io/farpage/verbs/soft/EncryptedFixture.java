package io.farpage.verbs.soft;

import io.farpage.linux.crypto.LibSsl;
import io.farpage.verbs.Device;
import io.farpage.verbs.VerbsProvider;
import io.farpage.verbs.contract.VerbsFixture;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;

/** Two soft devices on the loopback interface that encrypt every connection. */
record EncryptedFixture(Device a, Device b) implements VerbsFixture {
    /** Skips the test, with the reason, where libssl is missing. */
    static void requireLibrary() {
        LibSsl.Loading loading = TlsLibrary.load(Optional.empty());
        Assumptions.assumeTrue(loading instanceof LibSsl.Loading.Loaded, loading::toString);
    }

    static EncryptedFixture open() {
        requireLibrary();
        EncryptedProvider provider = new EncryptedProvider();
        return new EncryptedFixture(provider.open(SoftProvider.DEVICE), provider.open(SoftProvider.DEVICE));
    }

    @Override
    public Class<? extends VerbsProvider> provider() {
        return EncryptedProvider.class;
    }

    @Override
    public void close() {
        a.close();
        b.close();
    }
}
