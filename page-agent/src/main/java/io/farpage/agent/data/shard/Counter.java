package io.farpage.agent.data.shard;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** A count that one thread writes and any thread reads. */
public final class Counter {
    private static final VarHandle value$vh;

    static {
        try {
            value$vh = MethodHandles.lookup().findVarHandle(Counter.class, "value", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    @SuppressWarnings("UnusedVariable") // accessed through value$vh
    private long value;

    /** The writer's thread only. Opaque access is enough: readers want a recent value and order nothing by it. */
    public void add(long amount) {
        value$vh.setOpaque(this, (long) value$vh.getOpaque(this) + amount);
    }

    /** A recent value. Any thread. */
    public long get() {
        return (long) value$vh.getOpaque(this);
    }
}
