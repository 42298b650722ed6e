package io.farpage.bench.node;

import io.farpage.agent.data.seal.PageSeal;
import io.farpage.agent.data.seal.SealKeys;
import io.farpage.agent.data.seal.SealTable;
import io.farpage.agent.data.seal.SealedSpace;
import io.farpage.linux.crypto.AesGcm;
import io.farpage.linux.crypto.LibCrypto;
import java.security.SecureRandom;
import java.util.Optional;

/**
 * Seals and opens the workload's pages as an agent does for a guest of an encrypted space, with a random key that lives
 * as long as this object. Close it after the last transfer of a page.
 */
record LocalSeal(SealTable table, SealKeys keys, PageSeal pages) implements AutoCloseable {
    private static final int GENERATION = 1;
    private static final int SPACE = 1;

    static LocalSeal of(NodeSettings settings) throws NodeException {
        LibCrypto library = switch (LibCrypto.load(Optional.empty())) {
            case LibCrypto.Loading.Loaded(LibCrypto loaded) -> loaded;
            case LibCrypto.Loading.Failed failed -> throw new NodeException("pages cannot be sealed: " + failed);
        };
        byte[] key = new byte[AesGcm.KEY_BYTES];
        new SecureRandom().nextBytes(key);
        SealKeys keys = new SealKeys();
        keys.put(GENERATION, key);
        SealTable table = new SealTable(settings.pages());
        SealedSpace space =
                new SealedSpace(library, table, keys, new SealedSpace.Identity(SPACE, settings.pageSize()), GENERATION);
        return new LocalSeal(table, keys, space.part(0, Math.toIntExact(settings.pages())));
    }

    @Override
    public void close() {
        pages.close();
        keys.close();
        table.close();
    }
}
