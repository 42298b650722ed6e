package io.farpage.bench.agents;

import io.farpage.coordinator.model.Attempt;
import io.farpage.coordinator.model.DeviceInfo;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.FaultFigures;
import io.farpage.coordinator.model.FiguresReport;
import io.farpage.coordinator.model.Gid;
import io.farpage.coordinator.model.GuestPages;
import io.farpage.coordinator.model.HeaderPage;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.QpEntry;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.RemoteAddress;
import io.farpage.coordinator.model.TransportKind;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** What a page agent with one shard and the soft provider says of itself, as long as a real one's. */
final class Documents {
    private static final String DEVICE = "soft0";
    private static final long POOL_BYTES = 1L << 36;
    private static final int MTU = 4096;
    private static final long FIGURES_MILLIS = 5_000;
    private static final HeaderPage HEADER = new HeaderPage(new RemoteAddress(0x7f00_0000_0000L), 0x9e37_79b9L);

    private Documents() {}

    static Registration registration() {
        return new Registration(
                Incarnation.draw(),
                "host",
                "127.0.0.1:7410",
                2,
                1L << 38,
                List.of(new DeviceInfo(
                        DEVICE, TransportKind.TCP, 1, "ETHERNET", OptionalInt.empty(), OptionalInt.empty())),
                new PoolInfo(POOL_BYTES, MTU, Optional.empty()),
                List.of(TransportKind.TCP),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty());
    }

    /** A report of one guest, with figures of as many digits as those of a guest that faults a lot. */
    static FiguresReport figures(Incarnation incarnation, long space) {
        FaultFigures faults = new FaultFigures(51_234, 50_123, 12_345, 123_456, 10_123, 98_765);
        GuestPages pages = new GuestPages(4_194_304, 1_048_576, 1_048_000, 512_345, 2_512_345, 633_614, 0, 0);
        return new FiguresReport(
                incarnation,
                FIGURES_MILLIS,
                faults,
                List.of(new FiguresReport.Guest(space, pages, faults, OptionalLong.empty(), Optional.empty())));
    }

    static EndpointRequest offer(Incarnation own, Incarnation peer, Attempt attempt, Optional<Attempt> answers) {
        return new EndpointRequest(
                own,
                peer,
                Optional.of(attempt),
                answers,
                List.of(QpEntry.tcp(0, 0, 17, Gid.ZERO, 5, MTU, "127.0.0.1", 9000, HEADER)),
                Optional.empty());
    }
}
