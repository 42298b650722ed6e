package io.farpage.coordinator.etcd;

import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.PutOption;
import io.farpage.coordinator.store.StoreException;
import java.util.List;
import java.util.Optional;

/**
 * The version of the rows in etcd, in a key of its own beside the mark. Each transaction of a leader compares it. A
 * program would lose what it does not know of rows of another version, so it does not stand for election where the
 * version is not its own. A store without commits has no version, and gets it from its first leader.
 */
final class Format {

    /** The version that this program reads and writes. It grows when the rows change in form. */
    static final int OWN = 2;

    private static final String KEY = "format";

    private Format() {}

    /** Why this program may not lead; empty if it may. */
    static Optional<String> refusal(Etcd etcd) {
        return refusal(etcd, found(etcd));
    }

    private static Optional<String> refusal(Etcd etcd, Optional<String> found) {
        return found.filter(text -> number(text) != OWN)
                .map(other -> ("etcd, %s: the rows are of format %s, and this program reads and writes format %d; start"
                                + " the version of farpage that wrote them, or use another store.etcd.prefix")
                        .formatted(etcd.prefix(), other, OWN));
    }

    /** Rows that were written without a version count as version 0. */
    private static Optional<String> found(Etcd etcd) {
        return etcd.get(KEY).or(() -> etcd.get(EtcdStore.MARK).map(_ -> "0"));
    }

    /**
     * Makes the version this program's, as its leader.
     *
     * @param leads holds in etcd as long as this program leads
     * @throws StoreException if it does not lead, or if the rows are of another version
     */
    static void claim(Etcd etcd, Cmp leads) {
        Optional<String> found = found(etcd);
        refusal(etcd, found).ifPresent(reason -> {
            throw new StoreException(reason);
        });
        if (found.isPresent()) {
            return;
        }
        Cmp unchanged = new Cmp(etcd.key(KEY), Cmp.Op.EQUAL, CmpTarget.version(0));
        Op put = Op.put(etcd.key(KEY), Etcd.bytes(text()), PutOption.DEFAULT);
        if (!etcd.commit("begin format " + OWN, List.of(leads, unchanged), List.of(put))
                && !etcd.get(KEY).equals(Optional.of(text()))) {
            throw new StoreException("etcd, begin format %d: another coordinator leads".formatted(OWN));
        }
    }

    /** Holds while the rows are of this program's version. */
    static Cmp unchanged(Etcd etcd) {
        return new Cmp(etcd.key(KEY), Cmp.Op.EQUAL, CmpTarget.value(Etcd.bytes(text())));
    }

    private static String text() {
        return Integer.toString(OWN);
    }

    private static int number(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            throw new StoreException("etcd: the format '%s' is damaged; restore a backup of etcd".formatted(text), e);
        }
    }
}
