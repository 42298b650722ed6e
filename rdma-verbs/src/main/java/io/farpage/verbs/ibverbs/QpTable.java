package io.farpage.verbs.ibverbs;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Queue pairs by their number, for looking one up per completion: immutable, replaced whole on the control path. */
final class QpTable {
    static final QpTable EMPTY = new QpTable(new IbvQueuePair[0]);

    private final IbvQueuePair[] all;
    private final @Nullable IbvQueuePair[] slots;
    private final int shift;

    private QpTable(IbvQueuePair[] all) {
        this.all = all;
        int bits = 1;
        while ((1 << bits) < 2 * all.length) {
            bits++;
        }
        this.slots = new IbvQueuePair[1 << bits];
        this.shift = Integer.SIZE - bits;
        for (IbvQueuePair qp : all) {
            int slot = slot(qp.qpn());
            while (slots[slot] != null) {
                slot = (slot + 1) & (slots.length - 1);
            }
            slots[slot] = qp;
        }
    }

    private int slot(int qpn) {
        // Fibonacci hashing: devices number their queue pairs in a row, or in steps of a power of two.
        return (qpn * 0x9E3779B9) >>> shift;
    }

    @Nullable
    IbvQueuePair find(int qpn) {
        int slot = slot(qpn);
        while (true) {
            IbvQueuePair found = slots[slot];
            if (found == null || found.qpn() == qpn) {
                return found;
            }
            slot = (slot + 1) & (slots.length - 1);
        }
    }

    QpTable with(IbvQueuePair added) {
        IbvQueuePair[] more = Arrays.copyOf(all, all.length + 1);
        more[all.length] = added;
        return new QpTable(more);
    }

    QpTable without(IbvQueuePair removed) {
        return new QpTable(Arrays.stream(all).filter(qp -> qp != removed).toArray(IbvQueuePair[]::new));
    }
}
