package io.farpage.verbs.ibverbs;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Queue pairs by their number, for looking one up per completion: immutable, replaced whole on the control path. */
final class QpTable {
    static final QpTable EMPTY = new QpTable(new Outstanding[0]);

    private final Outstanding[] all;
    private final @Nullable Outstanding[] slots;
    private final int shift;

    private QpTable(Outstanding[] all) {
        this.all = all;
        int bits = 1;
        while ((1 << bits) < 2 * all.length) {
            bits++;
        }
        this.slots = new Outstanding[1 << bits];
        this.shift = Integer.SIZE - bits;
        for (Outstanding qp : all) {
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
    Outstanding find(int qpn) {
        int slot = slot(qpn);
        while (true) {
            Outstanding found = slots[slot];
            if (found == null || found.qpn() == qpn) {
                return found;
            }
            slot = (slot + 1) & (slots.length - 1);
        }
    }

    QpTable with(Outstanding added) {
        Outstanding[] more = Arrays.copyOf(all, all.length + 1);
        more[all.length] = added;
        return new QpTable(more);
    }

    QpTable without(Outstanding removed) {
        return new QpTable(Arrays.stream(all).filter(qp -> qp != removed).toArray(Outstanding[]::new));
    }
}
