package io.farpage.it.simulation.engine;

import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** Chance that the seed decides, in place of that of the JDK. */
public final class ChanceHooks {
    private ChanceHooks() {}

    private static Engine engine() {
        return Engine.get();
    }

    public static @Nullable ThreadLocalRandom current() {
        return null;
    }

    public static int nextInt(ThreadLocalRandom unused, int bound) {
        return engine().random().nextInt(bound);
    }

    public static int nextInt(ThreadLocalRandom unused, int low, int high) {
        return engine().random().nextInt(low, high);
    }

    public static int nextInt(ThreadLocalRandom unused) {
        return engine().random().nextInt();
    }

    public static long nextLong(ThreadLocalRandom unused) {
        return engine().random().nextLong();
    }

    public static long nextLong(ThreadLocalRandom unused, long bound) {
        return engine().random().nextLong(bound);
    }

    public static long nextLong(ThreadLocalRandom unused, long low, long high) {
        return engine().random().nextLong(low, high);
    }

    public static double nextDouble(ThreadLocalRandom unused) {
        return engine().random().nextDouble();
    }

    public static double nextDouble(ThreadLocalRandom unused, double bound) {
        return engine().random().nextDouble(bound);
    }

    public static double nextDouble(ThreadLocalRandom unused, double low, double high) {
        return engine().random().nextDouble(low, high);
    }

    public static UUID randomUUID() {
        return new UUID(engine().random().nextLong(), engine().random().nextLong());
    }
}
