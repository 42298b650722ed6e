package io.farpage.agent.control.pins;

import io.farpage.agent.data.pager.memory.Pins;
import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.Node;
import java.util.Optional;

/** In place of the class of the same name: a simulated VMM pins nothing, and an inspection of it takes a while. */
public final class PinWatch implements Pins, AutoCloseable {
    private final Node node = Engine.get().running();
    private Runnable wakePagers = () -> {};
    private long started;
    private long passed;

    private PinWatch() {}

    static PinWatch start(String space, int vmm, int file, PinWatches of) {
        return new PinWatch();
    }

    public void onInspected(Runnable wake) {
        wakePagers = wake;
    }

    @Override
    public long inspect() {
        Engine engine = Engine.get();
        long number = ++started;
        engine.after(engine.between(20_000, 300_000), node, () -> {
            passed = Math.max(passed, number);
            wakePagers.run();
        });
        return number;
    }

    @Override
    public boolean passed(long inspection) {
        return passed >= inspection;
    }

    @Override
    public boolean isHeld() {
        return false;
    }

    @Override
    public boolean isLasting() {
        return false;
    }

    @Override
    public boolean mayStall() {
        return false;
    }

    @Override
    public boolean isStalled() {
        return false;
    }

    public String found() {
        return "";
    }

    public Optional<String> pinned() {
        return Optional.empty();
    }

    public Optional<String> unserved() {
        return Optional.empty();
    }

    public PinStatus status() {
        return PinStatus.NONE;
    }

    @Override
    public void close() {}
}
