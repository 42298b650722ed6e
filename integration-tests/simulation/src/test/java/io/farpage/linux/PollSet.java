package io.farpage.linux;

import io.farpage.it.simulation.engine.Descriptors;
import java.util.Arrays;

/** In place of the class of the same name: descriptors of the simulation to wait for together. */
public final class PollSet {
    public static final int POLLIN = 0x1;
    public static final int POLLOUT = 0x4;
    public static final int POLLERR = 0x8;

    private int[] descriptors;
    private int[] events;
    private boolean[] ready;
    private int count;

    public PollSet(int expected) {
        descriptors = new int[expected];
        events = new int[expected];
        ready = new boolean[expected];
    }

    public void clear() {
        count = 0;
    }

    public int size() {
        return count;
    }

    public int add(int fd, int wanted) {
        if (count == descriptors.length) {
            descriptors = Arrays.copyOf(descriptors, 2 * count + 1);
            events = Arrays.copyOf(events, 2 * count + 1);
            ready = Arrays.copyOf(ready, 2 * count + 1);
        }
        descriptors[count] = fd;
        events[count] = wanted;
        ready[count] = false;
        return count++;
    }

    public int ready(int index) {
        return ready[index] ? POLLIN : 0;
    }

    public int await(long timeoutNanos) {
        if (timeoutNanos != 0) {
            Descriptors.await(descriptors, count, timeoutNanos);
        }
        int found = 0;
        for (int i = 0; i < count; i++) {
            ready[i] = events[i] == 0 ? Descriptors.isHungUp(descriptors[i]) : Descriptors.isReadable(descriptors[i]);
            found += ready[i] ? 1 : 0;
        }
        return found;
    }
}
