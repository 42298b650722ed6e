package io.farpage.agent.rest;

import io.farpage.agent.control.guest.GuestStatus;
import io.farpage.agent.control.guest.Guests;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.function.ToLongFunction;

/** The guests' metrics, each with the label {@code space}, read when they are scraped. */
public final class GuestMetrics {
    private static final double NANOS_PER_SECOND = 1e9;

    private final PrometheusRegistry registry;
    private final Guests guests;

    private GuestMetrics(PrometheusRegistry registry, Guests guests) {
        this.registry = registry;
        this.guests = guests;
    }

    /** Registers everything. */
    public static void register(PrometheusRegistry registry, Guests guests) {
        GuestMetrics metrics = new GuestMetrics(registry, guests);
        metrics.pages();
        metrics.faults();
        metrics.latencies();
    }

    private void pages() {
        GaugeWithCallback.builder()
                .name("farpage_agent_guest_pages")
                .help("Pages of a guest by where they are")
                .labelNames("space", "state")
                .callback(callback -> guests.status().forEach(g -> {
                    callback.call((double) g.where().residentPages(), g.space(), "resident");
                    callback.call((double) g.where().remotePages(), g.space(), "remote");
                    callback.call((double) g.where().zeroPages(), g.space(), "zero");
                    callback.call((double) g.where().dirtyPages(), g.space(), "dirty");
                    callback.call((double) g.where().lostPages(), g.space(), "lost");
                }))
                .register(registry);
        gauge(
                "stranded_pages",
                "Resident pages whose home is lost: never evicted, and not counted against the limit",
                g -> g.where().strandedPages());
        gauge(
                "limit_pages",
                "Pages that may be resident, apart from stranded ones",
                g -> g.where().localLimitPages());
        gauge(
                "peak_resident_pages",
                "The most pages that were resident",
                g -> g.where().peakResidentPages());
        gauge(
                "pins_held",
                "1 while pages stay, whatever the limit, because a device may write to them",
                g -> g.pins().held() ? 1 : 0);
        count(
                "pin_inspections_total",
                "Inspections of the VMM's descriptors for what may pin memory",
                g -> g.pins().inspections());
        count("evictions_total", "Pages taken out", g -> g.where().evictions());
        count(
                "written_back_pages_total",
                "Pages written to their homes",
                g -> g.where().writtenBackPages());
        count(
                "elided_pages_total",
                "Pages taken out that were zeros",
                g -> g.where().elidedPages());
        count("prefetched_pages_total", "Pages installed ahead", g -> g.faults().prefetchedPages());
        count(
                "prefetch_hits_total",
                "Pages installed ahead that the guest went past",
                g -> g.where().prefetchHits());
        count(
                "prefetch_waste_total",
                "Pages installed ahead in streams that ended",
                g -> g.where().prefetchWaste());
        count(
                "removed_pages_total",
                "Pages given up by the guest",
                g -> g.faults().removedPages());
        count(
                "waited_faults_total",
                "Faults that had to wait for room",
                g -> g.faults().waitedFaults());
    }

    private void faults() {
        CounterWithCallback.builder()
                .name("farpage_agent_guest_faults_total")
                .help("Faults of a guest by what they were of")
                .labelNames("space", "kind")
                .callback(callback -> guests.status().forEach(g -> {
                    callback.call((double) g.faults().fetchedFaults(), g.space(), "fetched");
                    callback.call((double) g.faults().zeroFaults(), g.space(), "zero");
                    callback.call((double) g.faults().writeProtectFaults(), g.space(), "write_protect");
                    callback.call((double) g.faults().repeatedFaults(), g.space(), "repeated");
                }))
                .register(registry);
    }

    private void latencies() {
        GaugeWithCallback.builder()
                .name("farpage_agent_guest_fault_seconds")
                .help("From reading a fault to having installed its page, over all faults so far")
                .labelNames("space", "quantile")
                .callback(callback -> guests.status().forEach(g -> {
                    callback.call(g.faults().faultP50Ns() / NANOS_PER_SECOND, g.space(), "0.5");
                    callback.call(g.faults().faultP99Ns() / NANOS_PER_SECOND, g.space(), "0.99");
                    callback.call(g.faults().faultP999Ns() / NANOS_PER_SECOND, g.space(), "0.999");
                }))
                .register(registry);
        GaugeWithCallback.builder()
                .name("farpage_agent_guest_phase_seconds")
                .help(
                        "A phase of faults: until the page had arrived (fetch), and from then on (install); over all so far")
                .labelNames("space", "phase", "quantile")
                .callback(callback -> guests.status().forEach(g -> {
                    callback.call(g.faults().fetchP50Ns() / NANOS_PER_SECOND, g.space(), "fetch", "0.5");
                    callback.call(g.faults().fetchP99Ns() / NANOS_PER_SECOND, g.space(), "fetch", "0.99");
                    callback.call(g.faults().installP50Ns() / NANOS_PER_SECOND, g.space(), "install", "0.5");
                    callback.call(g.faults().installP99Ns() / NANOS_PER_SECOND, g.space(), "install", "0.99");
                }))
                .register(registry);
    }

    private void gauge(String name, String help, ToLongFunction<GuestStatus> value) {
        GaugeWithCallback.builder()
                .name("farpage_agent_guest_" + name)
                .help(help)
                .labelNames("space")
                .callback(callback ->
                        guests.status().forEach(g -> callback.call((double) value.applyAsLong(g), g.space())))
                .register(registry);
    }

    private void count(String name, String help, ToLongFunction<GuestStatus> value) {
        CounterWithCallback.builder()
                .name("farpage_agent_guest_" + name)
                .help(help)
                .labelNames("space")
                .callback(callback ->
                        guests.status().forEach(g -> callback.call((double) value.applyAsLong(g), g.space())))
                .register(registry);
    }
}
