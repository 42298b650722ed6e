package io.farpage.verbs.ibverbs;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.verbs.Availability;
import io.farpage.verbs.Device;
import io.farpage.verbs.VerbsProvider;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.contract.VerbsFixture;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * The devices named by the system property {@code farpage.rdma.devices}: one, opened twice, or two that reach each
 * other. Without the property the first usable device is taken, and where there is none the test is skipped, saying
 * why.
 */
record IbverbsFixture(Device a, Device b) implements VerbsFixture {
    static final String DEVICES = "farpage.rdma.devices";

    static IbverbsFixture open() {
        IbverbsProvider provider = new IbverbsProvider();
        List<String> names = devices(provider);
        return new IbverbsFixture(provider.open(names.getFirst()), provider.open(names.getLast()));
    }

    private static List<String> devices(IbverbsProvider provider) {
        String named = System.getProperty(DEVICES, "");
        if (!named.isEmpty()) {
            // Named means that they must be there: no excuse from here on.
            return List.of(named.split(","));
        }
        Availability found = provider.probe();
        assumeTrue(found instanceof Availability.Available, () -> "no RDMA device: " + found);
        return List.of(((Availability.Available) found).devices().getFirst());
    }

    @Override
    public Class<? extends VerbsProvider> provider() {
        return IbverbsProvider.class;
    }

    /** SoftRoCE (Linux 6.1) tells some failures under another name than the specification does. */
    @Override
    public Set<WcStatus> reported(WcStatus specified) {
        if (!a.name().startsWith("rxe")) {
            return EnumSet.of(specified);
        }
        return switch (specified) {
            case LOC_PROT_ERR -> EnumSet.of(WcStatus.LOC_PROT_ERR, WcStatus.LOC_QP_OP_ERR);
            case LOC_LEN_ERR -> EnumSet.of(WcStatus.LOC_LEN_ERR, WcStatus.LOC_QP_OP_ERR);
            // Its NAK in the middle of a long READ carries a PSN that its own requester ignores.
            case REM_ACCESS_ERR -> EnumSet.of(WcStatus.REM_ACCESS_ERR, WcStatus.RETRY_EXC_ERR);
            case REM_INV_REQ_ERR -> EnumSet.of(WcStatus.REM_INV_REQ_ERR, WcStatus.REM_OP_ERR);
            default -> EnumSet.of(specified);
        };
    }

    @Override
    public boolean takesAnswersAfterALocalError() {
        return !a.name().startsWith("rxe");
    }

    @Override
    public void close() {
        a.close();
        b.close();
    }
}
