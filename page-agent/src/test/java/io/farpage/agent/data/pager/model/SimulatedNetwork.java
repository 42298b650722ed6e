package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.shard.GrantedRanges;
import io.farpage.agent.data.shard.PeerMemory;
import io.farpage.agent.data.shard.PolledQueue;
import io.farpage.agent.data.shard.Rail;
import io.farpage.pool.header.PoolHeader;
import io.farpage.verbs.WcOpcode;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Deque;
import java.util.List;

/**
 * A home and the link to it. Each page of a transfer is carried out at a moment of its own, in any order, between
 * posting and completion; completions come in the order of posting. A WRITE whose link broke may still reach the home,
 * until the home has a new queue pair, which it makes only after it has closed the old one.
 */
final class SimulatedNetwork extends PolledQueue {
    static final long INCARNATION = 7;
    private static final long HEADER = 1L << 40;
    private static final long EXPORTED = 1L << 41;

    private final String node;
    private final int pageBytes;
    /** The pages of the space, and behind them those of its snapshot, if it is a clone. */
    private final long[] home;
    /** Pages of the space. */
    private final int pages;

    private final Deque<Transfer> underWay = new ArrayDeque<>();
    private final List<LateWrite> late = new ArrayList<>();
    private final Deque<Completion> completions = new ArrayDeque<>();
    private final Rail rail = new Rail("simulated", this, this, 0, 1);
    private int links;
    private long answers;
    private boolean isReused;
    private boolean joins;

    /** @param node the home's name */
    SimulatedNetwork(String node, int pages, int pageBytes) {
        this.node = node;
        this.pageBytes = pageBytes;
        this.pages = pages;
        home = new long[2 * pages];
    }

    /** A READ or WRITE, and which of its pages have been carried out. */
    record Transfer(long wrId, boolean write, long local, long remote, int pageBytes, int pages, BitSet landed) {
        boolean isHeader() {
            return remote < EXPORTED;
        }

        int page(int index) {
            return (int) ((remote - EXPORTED) / pageBytes) + index;
        }

        long address(int index) {
            return local + (long) index * pageBytes;
        }

        /** Identity: another transfer may have the same numbers. */
        @Override
        public boolean equals(Object other) {
            return this == other;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(this);
        }

        /** The first page that has not been carried out, or -1. */
        int firstLeft() {
            int left = landed.nextClearBit(0);
            return left < pages ? left : -1;
        }

        /** The transfer without its number. */
        String shape() {
            return (write ? "W" : "R") + local % (1L << 32) + ">" + (remote - EXPORTED) / pageBytes + "*" + pages
                    + landed;
        }
    }

    private record LateWrite(int page, long version) {}

    private record Completion(long wrId, WcStatus status, boolean write) {}

    Rail rail() {
        return rail;
    }

    PeerMemory memory() {
        return new PeerMemory(
                INCARNATION,
                HEADER,
                0,
                "simulated",
                GrantedRanges.of(List.of(new GrantedRanges.Range(0, exportedBytes(), EXPORTED, 0))));
    }

    private long exportedBytes() {
        return (long) home.length * pageBytes;
    }

    int pageBytes() {
        return pageBytes;
    }

    /** The version that the home has. */
    long home(int page) {
        return home[page];
    }

    /** Sets the version that the home has. */
    void home(int page, long version) {
        home[page] = version;
    }

    /** Sets the version of a page of the snapshot. */
    void snapshot(int page, long version) {
        home[pages + page] = version;
    }

    /** The version of a page of the snapshot. */
    long snapshot(int page) {
        return home[pages + page];
    }

    /** Copies a page from the snapshot to the space. */
    void fill(int page) {
        home[page] = home[pages + page];
    }

    /** The home revokes the key of a page before it gives the frame to another space: late WRITEs are refused. */
    void revoke(int page) {
        late.removeIf(write -> write.page() == page);
        home[page] = 0;
    }

    /** Connects a new queue pair; the home closes its old one. */
    SimulatedQueuePair connect() {
        late.clear();
        return new SimulatedQueuePair(++links, this);
    }

    List<Transfer> underWay() {
        return new ArrayList<>(underWay);
    }

    boolean isIdle() {
        return underWay.isEmpty() && completions.isEmpty();
    }

    /** Pages of WRITEs that may still reach the home although they have failed. */
    int late() {
        return late.size();
    }

    void post(Transfer transfer) {
        if (isReused && transfer.write()) {
            throw new AssertionError(
                    "page " + transfer.page(0) + " is written to " + node + ", which has other use for its frames");
        }
        if (transfer.write() && transfer.page(transfer.pages() - 1) >= pages) {
            throw new AssertionError("page " + transfer.page(0) + " is written, which is one of the snapshot");
        }
        if (joins && !transfer.write() && !transfer.isHeader()) {
            throw new AssertionError("page " + transfer.page(0) + " is read from " + node + ", which joins");
        }
        underWay.add(transfer);
    }

    /** Whether the home joins, and may lack pages. */
    void joins(boolean doesJoin) {
        joins = doesJoin;
    }

    /** The home gives frames of zeros to the space. */
    void use() {
        isReused = false;
        Arrays.fill(home, 0);
    }

    /** Carries out a page of a transfer. */
    void land(Transfer transfer, int index) {
        transfer.landed().set(index);
        if (transfer.isHeader()) {
            new PoolHeader(node, INCARNATION, Memory.PAGE, exportedBytes())
                    .writeTo(Memory.at(transfer.local(), PoolHeader.BYTES));
            return;
        }
        long address = transfer.address(index);
        int page = transfer.page(index);
        if (transfer.write()) {
            home[page] = Memory.version(address);
        } else {
            Memory.version(address, home[page]);
        }
    }

    /** A page of a failed WRITE reaches the home, with the bytes as they were when it was sent. */
    void landLate(int number) {
        LateWrite write = late.remove(number);
        home[write.page()] = write.version();
    }

    /** Completes the oldest transfer. */
    void complete() {
        Transfer transfer = underWay.remove();
        for (int i = transfer.firstLeft(); i >= 0; i = transfer.firstLeft()) {
            land(transfer, i);
        }
        completions.add(new Completion(transfer.wrId(), WcStatus.SUCCESS, transfer.write()));
    }

    /** Transfers whose success the agent has polled. */
    long answers() {
        return answers;
    }

    /** Fails all that is under way. */
    void flush(WcStatus first) {
        WcStatus status = first;
        for (Transfer transfer : underWay) {
            completions.add(new Completion(transfer.wrId(), status, transfer.write()));
            status = WcStatus.WR_FLUSH_ERR;
            leaveBehind(transfer);
        }
        underWay.clear();
    }

    /** Pages of a WRITE that have not reached the home may still do so. */
    private void leaveBehind(Transfer transfer) {
        for (int i = 0; transfer.write() && i < transfer.pages(); i++) {
            if (!transfer.landed().get(i)) {
                late.add(new LateWrite(transfer.page(i), Memory.version(transfer.address(i))));
            }
        }
    }

    @Override
    public int poll(WorkCompletion[] into) {
        int count = 0;
        while (count < into.length && !completions.isEmpty()) {
            Completion next = completions.remove();
            answers += next.status() == WcStatus.SUCCESS ? 1 : 0;
            into[count++].set(next.wrId(), next.status(), WcOpcode.RDMA_READ, 0, 0, links);
        }
        return count;
    }

    /** No process polls what has completed. */
    void forget() {
        completions.clear();
    }

    /**
     * The home revokes access to its frames and gives them to another space. The agent must have polled all its WRITEs.
     */
    void reuse() {
        if (underWay.stream().anyMatch(Transfer::write) || completions.stream().anyMatch(Completion::write)) {
            throw new AssertionError("a WRITE to " + node + " is under way although the agent has acknowledged that "
                    + node + " is dropped");
        }
        late.clear();
        isReused = true;
        Arrays.fill(home, 0);
    }

    /** The state of the network, without the numbers of the transfers. */
    String shape() {
        StringBuilder shape = new StringBuilder(Arrays.toString(home));
        underWay.forEach(transfer -> shape.append(transfer.shape()));
        shape.append(late);
        completions.forEach(completion -> shape.append(completion.status()).append((int) completion.wrId()));
        return shape.toString();
    }
}
