package io.farpage.agent.data.pager.memory;

import io.farpage.agent.data.pager.home.Home;
import io.farpage.agent.data.pager.home.Homes;
import io.farpage.agent.data.pager.home.RemoteHomes;
import java.util.Arrays;
import java.util.function.IntConsumer;

/**
 * Faults that wait for the limit or for a free slot: a queue for each home, so that a home that does not answer delays
 * no others, and one for pages of this node.
 */
public final class WaitingFaults {
    private final Homes homes;
    private final RemoteHomes remotes;
    private FaultQueue[] queues = {new FaultQueue()};
    private int size;

    WaitingFaults(Homes homes) {
        this.homes = homes;
        remotes = homes.remotes();
    }

    public boolean isEmpty() {
        return size == 0;
    }

    public int size() {
        return size;
    }

    /** How many wait for pages of homes that answer, or of this node. */
    public int served() {
        int served = size;
        for (int number = 1; size > 0 && number < queues.length; number++) {
            if (!queues[number].isEmpty() && !isServed(number)) {
                served -= queues[number].size();
            }
        }
        return served;
    }

    /** Whether some may be served without a completion or a link. The others wait for a home that does not answer. */
    public boolean isBusy() {
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

    public void add(int page, boolean write, long seenNanos) {
        int number = queueOf(page);
        if (number >= queues.length) {
            grow(number + 1);
        }
        queues[number].add(page, write, seenNanos);
        size++;
    }

    private int queueOf(int page) {
        Home home = homes.homeOf(page);
        return home == null ? 0 : home.number();
    }

    /**
     * Moves the head of a queue to that of the home that its page is read from now, if that is another one: it must not
     * wait there for a home that does not answer, with others behind it. Returns whether it was moved.
     */
    public boolean move(int number) {
        FaultQueue from = queues[number];
        int page = from.page();
        if (queueOf(page) == number) {
            return false;
        }
        boolean write = from.isWrite();
        long seenNanos = from.seenAt();
        remove(number);
        add(page, write, seenNanos);
        return true;
    }

    /** Number of queues, empty ones included. */
    public int queues() {
        return queues.length;
    }

    public FaultQueue queue(int number) {
        return queues[number];
    }

    /** Removes the head of a queue. */
    public void remove(int number) {
        queues[number].remove();
        size--;
    }

    /**
     * Removes the faults of {@code length} pages from {@code first} on, and gives the page of each to {@code removed}.
     */
    public void removeRange(int first, int length, IntConsumer removed) {
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
