package io.farpage.agent.rest;

import io.farpage.agent.control.guest.GuestStatus;
import io.farpage.agent.control.guest.Guests;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.List;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/** The guests' metrics, read when they are scraped; those of one guest have the label {@code space}. */
public final class GuestMetrics {
    private static final String PREFIX = "farpage_agent_guest_";

    private final PrometheusRegistry registry;
    private final Supplier<Guests> guests;

    private GuestMetrics(PrometheusRegistry registry, Supplier<Guests> guests) {
        this.registry = registry;
        this.guests = guests;
    }

    /** One value of a guest, and the values of its labels behind {@code space}. */
    private record Sample(ToDoubleFunction<GuestStatus> value, List<String> labels) {
        Sample(ToDoubleFunction<GuestStatus> value, String... labels) {
            this(value, List.of(labels));
        }
    }

    /** Receives the values of a metric. */
    @FunctionalInterface
    private interface Callback {
        void call(double value, String... labels);
    }

    /** Registers everything. */
    public static void register(PrometheusRegistry registry, Supplier<Guests> guests) {
        GuestMetrics metrics = new GuestMetrics(registry, guests);
        metrics.pages();
        metrics.adoptions();
        metrics.faults();
        metrics.latencies();
    }

    private void adoptions() {
        CounterWithCallback.builder()
                .name("farpage_agent_guests_adopted_total")
                .help("Guests of an earlier process of this agent that this one serves, or has served")
                .callback(callback -> callback.call((double) guests.get().adoptions()))
                .register(registry);
        GaugeWithCallback.builder()
                .name("farpage_agent_guests_unserved")
                .help("Guests of an earlier process of this agent that run and are not served: their threads stand"
                        + " still")
                .callback(callback -> callback.call(guests.get().unserved()))
                .register(registry);
    }

    private void pages() {
        gauge(
                "pages",
                "Pages of a guest by where they are",
                List.of("state"),
                new Sample(g -> g.where().residentPages(), "resident"),
                new Sample(g -> g.where().remotePages(), "remote"),
                new Sample(g -> g.where().zeroPages(), "zero"),
                new Sample(g -> g.where().dirtyPages(), "dirty"),
                new Sample(g -> g.where().lostPages(), "lost"));
        gauge(
                "stranded_pages",
                "Resident pages whose home is lost, or for which no home has room: never evicted, and not counted"
                        + " against the limit",
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
                "roomless",
                "1 while pages of a thin space stay in the guest's memory because no home has room for them",
                g -> g.roomless() ? 1 : 0);
        gauge("parked", "1 while the guest is parked", g -> g.parked().isPresent() ? 1 : 0);
        gauge(
                "parked_bytes",
                "Memory of a parked guest that has left for its homes since it was parked",
                g -> g.parked()
                        .map(as -> as.leftPages(g.where().residentPages())
                                * g.where().pageSize())
                        .orElse(0L));
        gauge(
                "pins_held",
                "1 while pages stay resident, whatever the limit, because a device may write to them",
                g -> g.pins().held() ? 1 : 0);
        count(
                "pin_inspections_total",
                "Inspections of the VMM's descriptors for what may pin memory",
                g -> g.pins().inspections());
        count("evictions_total", "Pages evicted", g -> g.where().evictions());
        count(
                "written_back_pages_total",
                "Pages written to their homes",
                g -> g.where().writtenBackPages());
        count(
                "elided_pages_total",
                "Pages of zeros that were evicted without a write",
                g -> g.where().elidedPages());
        count("prefetched_pages_total", "Pages prefetched", g -> g.faults().prefetchedPages());
        count(
                "prefetch_hits_total",
                "Prefetched pages that the guest went past",
                g -> g.where().prefetchHits());
        count(
                "prefetch_waste_total",
                "Prefetched pages of streams that ended before them",
                g -> g.where().prefetchWaste());
        count(
                "integrity_failures_total",
                "Pages of an encrypted space that came from their homes other than they were sealed",
                g -> g.faults().integrityFailures());
        count(
                "foreign_pages_total",
                "Pages at their homes that the memory file had although the agent had not installed them",
                g -> g.faults().foreignPages());
        count(
                "hedged_reads_total",
                "Reads of pages with several homes that took so long that another home was asked as well",
                g -> g.faults().hedgedReads());
        count(
                "repaired_pages_total",
                "Pages copied to homes that join, in place of lost homes or of those on nodes that are drained",
                g -> g.faults().repairedPages());
        count(
                "removed_pages_total",
                "Pages that the guest discarded, such as by its balloon",
                g -> g.faults().removedPages());
        count(
                "waited_faults_total",
                "Faults that waited for a free frame",
                g -> g.faults().waitedFaults());
    }

    private void faults() {
        count(
                "faults_total",
                "Faults of a guest by their cause",
                List.of("kind"),
                new Sample(g -> g.faults().fetchedFaults(), "fetched"),
                new Sample(g -> g.faults().victimFaults(), "victim"),
                new Sample(g -> g.faults().zeroFaults(), "zero"),
                new Sample(g -> g.faults().writeProtectFaults(), "write_protect"),
                new Sample(g -> g.faults().repeatedFaults(), "repeated"));
    }

    private void latencies() {
        registry.register(new LatencyMetric(
                PREFIX + "fault_seconds",
                "From reading a fault to having installed its page",
                List.of("space"),
                () -> guests.get().latencies().stream()
                        .map(guest -> new LatencyMetric.Sample(guest.fault(), List.of(guest.space())))
                        .toList()));
        registry.register(new LatencyMetric(
                PREFIX + "fault_phase_seconds",
                "A phase of faults: until the page had arrived (fetch), and from then on (install)",
                List.of("space", "phase"),
                () -> guests.get().latencies().stream()
                        .flatMap(guest -> Stream.of(
                                new LatencyMetric.Sample(guest.fetch(), List.of(guest.space(), "fetch")),
                                new LatencyMetric.Sample(guest.install(), List.of(guest.space(), "install"))))
                        .toList()));
    }

    private void gauge(String name, String help, ToDoubleFunction<GuestStatus> value) {
        gauge(name, help, List.of(), new Sample(value));
    }

    private void gauge(String name, String help, List<String> labels, Sample... samples) {
        GaugeWithCallback.builder()
                .name(PREFIX + name)
                .help(help)
                .labelNames(behindSpace("space", labels))
                .callback(callback -> scrape(callback::call, samples))
                .register(registry);
    }

    private void count(String name, String help, ToDoubleFunction<GuestStatus> value) {
        count(name, help, List.of(), new Sample(value));
    }

    private void count(String name, String help, List<String> labels, Sample... samples) {
        CounterWithCallback.builder()
                .name(PREFIX + name)
                .help(help)
                .labelNames(behindSpace("space", labels))
                .callback(callback -> scrape(callback::call, samples))
                .register(registry);
    }

    private void scrape(Callback callback, Sample... samples) {
        for (GuestStatus guest : guests.get().status()) {
            for (Sample sample : samples) {
                callback.call(sample.value().applyAsDouble(guest), behindSpace(guest.space(), sample.labels()));
            }
        }
    }

    private static String[] behindSpace(String space, List<String> labels) {
        return Stream.concat(Stream.of(space), labels.stream()).toArray(String[]::new);
    }
}
