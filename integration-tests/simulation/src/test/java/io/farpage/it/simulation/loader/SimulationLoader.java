package io.farpage.it.simulation.loader;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Loads the project's classes anew for each simulation, with time, threads, locks and chance taken from its engine. So
 * a simulation begins with fresh static state, and the main code has no seams for it. Their assertions are on.
 */
public final class SimulationLoader extends ClassLoader {
    private static final String OWN = "io.farpage.";
    /** The library of metrics has a thread of its own. */
    private static final String METRICS = "io.prometheus.";

    private static final String ENGINE = "io.farpage.it.simulation.engine.";
    private static final String LOADER = "io.farpage.it.simulation.loader.";
    private static final Map<String, byte[]> TRANSFORMED = new ConcurrentHashMap<>();

    static {
        registerAsParallelCapable();
    }

    private final Transformer transformer = new Transformer(SimulationLoader.class.getClassLoader());

    public SimulationLoader() {
        super("simulation", SimulationLoader.class.getClassLoader());
        setDefaultAssertionStatus(true);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!(name.startsWith(OWN) || name.startsWith(METRICS)) || name.startsWith(LOADER)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            return loaded != null ? loaded : define(name);
        }
    }

    private Class<?> define(String name) throws ClassNotFoundException {
        byte[] bytes = TRANSFORMED.get(name);
        if (bytes == null) {
            bytes = read(name);
            if (!name.startsWith(ENGINE)) {
                bytes = transformer.transform(bytes);
            }
            TRANSFORMED.put(name, bytes);
        }
        return defineClass(name, bytes, 0, bytes.length);
    }

    private byte[] read(String name) throws ClassNotFoundException {
        try (InputStream in = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
            if (in == null) {
                throw new ClassNotFoundException(name);
            }
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
