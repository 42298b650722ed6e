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
 * program reads rows of a later version without the fields that it does not know, and would write them back without
 * these; so it does not stand for election where the version is later than its own. A store without the key is of a
 * program that knew none, and gets it from its next leader.
 */
final class Format {

    /**
     * The version that this program writes. It grows when a program of the version before would lose what is in a row.
     */
    static final int OWN = 1;

    private static final String KEY = "format";

    private Format() {}

    /** Why this program may not lead; empty if it may. */
    static Optional<String> refusal(Etcd etcd) {
        return refusal(etcd, etcd.get(KEY));
    }

    private static Optional<String> refusal(Etcd etcd, Optional<String> found) {
        return found.filter(text -> number(text) > OWN)
                .map(later ->
                        "etcd, %s: the rows are of format %s, and this program, which writes format %d, would lose a part of them; start the version of farpage that wrote them"
                                .formatted(etcd.prefix(), later, OWN));
    }

    /**
     * Makes the version this program's, as its leader.
     *
     * @param leads holds in etcd as long as this program leads
     * @throws StoreException if it does not lead, or if the rows are of a later version
     */
    static void claim(Etcd etcd, Cmp leads) {
        Optional<String> found = etcd.get(KEY);
        refusal(etcd, found).ifPresent(reason -> {
            throw new StoreException(reason);
        });
        if (found.equals(Optional.of(text()))) {
            return;
        }
        Cmp unchanged = new Cmp(
                etcd.key(KEY),
                Cmp.Op.EQUAL,
                found.<CmpTarget<?>>map(text -> CmpTarget.value(Etcd.bytes(text)))
                        .orElseGet(() -> CmpTarget.version(0)));
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
