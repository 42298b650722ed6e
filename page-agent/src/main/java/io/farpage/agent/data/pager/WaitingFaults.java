package io.farpage.agent.data.pager;

import java.util.Arrays;
import java.util.function.IntConsumer;

/**
 * Faults that wait for the limit or for a free slot: a queue for each home, so that a home that does not answer delays
 * no others, and one for pages of this node.
 */
final class WaitingFaults {
    private final Homes homes;
    private final RemoteHomes remotes;
    private FaultQueue[] queues = {new FaultQueue()};
    private int size;

    WaitingFaults(Homes homes) {
        this.homes = homes;
        remotes = homes.remotes();
    }

    boolean isEmpty() {
        return size == 0;
    }

    int size() {
        return size;
    }

    /** How many wait for pages of homes that answer, or of this node. */
    int served() {
        int served = size;
        for (int number = 1; size > 0 && number < queues.length; number++) {
            if (!queues[number].isEmpty() && !isServed(number)) {
                served -= queues[number].size();
            }
        }
        return served;
    }

    /** Whether some may be served without a completion or a link. The others wait for a home that does not answer. */
    boolean isBusy() {
        for (int number = 0; size > 0 && number < queues.length; number++) {
            if (!queues[number].isEmpty() && isServed(number)) {
                return true;
            }
        }
        return false;
    }

    /** Whether the home of a queue answers, or the one that the page at its head is read from now does. */
    private boolean isServed(int number) {
        if (number == 0 || remotes.answers(remotes.numbered(number))) {
            return true;
        }
        Home reader = homes.homeOf(queues[number].page());
        return reader == null || remotes.answers(reader);
    }

    void add(int page, boolean write, long seenNanos) {
        Home home = homes.homeOf(page);
        int number = home == null ? 0 : home.number();
        if (number >= queues.length) {
            grow(number + 1);
        }
        queues[number].add(page, write, seenNanos);
        size++;
    }

    /** Number of queues, empty ones included. */
    int queues() {
        return queues.length;
    }

    FaultQueue queue(int number) {
        return queues[number];
    }

    /** Removes the head of a queue. */
    void remove(int number) {
        queues[number].remove();
        size--;
    }

    /**
     * Removes the faults of {@code length} pages from {@code first} on, and gives the page of each to {@code removed}.
     */
    void removeRange(int first, int length, IntConsumer removed) {
        for (int number = 0; size > 0 && number < queues.length; number++) {
            size -= queues[number].removeRange(first, length, removed);
        }
    }

    private void grow(int length) {
        int had = queues.length;
        queues = Arrays.copyOf(queues, length);
        for (int number = had; number < length; number++) {
            queues[number] = new FaultQueue();
        }
    }
}
