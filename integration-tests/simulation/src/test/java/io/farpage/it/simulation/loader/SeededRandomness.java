package io.farpage.it.simulation.loader;

import java.security.Provider;
import java.security.SecureRandomSpi;
import java.security.Security;
import java.util.Random;

/**
 * Makes every {@code SecureRandom} of this JVM draw from the seed of the simulation: keys, incarnations, serial
 * numbers.
 */
public final class SeededRandomness extends SecureRandomSpi {
    private static final long serialVersionUID = 1;
    private static Random random = new Random(0);

    /** Begins anew with a seed. */
    public static void begin(long seed) {
        random = new Random(seed);
        if (Security.getProvider("simulation") == null) {
            Security.insertProviderAt(new Seeded(), 1);
        }
    }

    /** Made by the JDK. */
    public SeededRandomness() {}

    private static final class Seeded extends Provider {
        private static final long serialVersionUID = 1;

        Seeded() {
            super("simulation", "1", "randomness from a seed");
            put("SecureRandom.seeded", SeededRandomness.class.getName());
        }
    }

    @Override
    protected void engineSetSeed(byte[] seed) {}

    @Override
    protected void engineNextBytes(byte[] bytes) {
        random.nextBytes(bytes);
    }

    @Override
    protected byte[] engineGenerateSeed(int count) {
        byte[] bytes = new byte[count];
        random.nextBytes(bytes);
        return bytes;
    }
}
