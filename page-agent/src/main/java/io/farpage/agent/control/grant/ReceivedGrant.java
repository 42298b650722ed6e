package io.farpage.agent.control.grant;

import io.farpage.agent.data.shard.DeviceGrants;
import io.farpage.agent.data.shard.GrantedRanges;
import io.farpage.agent.data.shard.PeerGrants;
import io.farpage.coordinator.model.RegionKey;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A grant that this node has opened.
 *
 * @param parties what it is about
 * @param sealed as the coordinator handed it out
 * @param content the keys
 * @param isRefused whether the home has refused a key of it
 */
record ReceivedGrant(GrantParties parties, String sealed, GrantContent content, boolean isRefused) {
    ReceivedGrant refused() {
        return new ReceivedGrant(parties, sealed, content, true);
    }

    /** Whether it grants anything. */
    boolean isUsable() {
        return !isRefused && !content.ranges().isEmpty();
    }

    /** The same without what is in none of some ranges. */
    ReceivedGrant within(List<PoolRanges.PoolRange> places) {
        List<GrantContent.Range> kept = content.ranges().stream()
                .flatMap(range -> places.stream().flatMap(place -> range.within(place.offset(), place.length())))
                .toList();
        return kept.equals(content.ranges())
                ? this
                : new ReceivedGrant(parties, sealed, new GrantContent(kept), isRefused);
    }

    String home() {
        return parties.home();
    }

    boolean isOf(String home, long incarnation) {
        return parties.home().equals(home) && parties.homeIncarnation().value() == incarnation;
    }

    /** Whether it grants the byte at {@code offset} with this key. */
    boolean grants(long offset, int rkey) {
        return content.ranges().stream()
                .anyMatch(range ->
                        range.covers(offset) && range.keys().stream().anyMatch(key -> (int) key.rkey() == rkey));
    }

    boolean isSealedAs(String text) {
        return sealed.equals(text);
    }

    /**
     * What a home has granted, of the incarnation of its newest grant. Where ranges of a deleted space and a new one
     * overlap, the newest counts for the bytes that both have.
     *
     * @param grants of one home, the newest last
     */
    static PeerGrants join(Collection<ReceivedGrant> grants) {
        if (grants.isEmpty()) {
            return PeerGrants.NOTHING;
        }
        List<ReceivedGrant> newestFirst = new ArrayList<>(grants).reversed();
        long incarnation = newestFirst.getFirst().parties().homeIncarnation().value();
        List<GrantContent.Range> attachments = new ArrayList<>();
        List<GrantContent.Range> pulls = new ArrayList<>();
        for (ReceivedGrant grant : newestFirst) {
            if (grant.parties().homeIncarnation().value() == incarnation) {
                List<GrantContent.Range> chosen = grant.parties().pull().isPresent() ? pulls : attachments;
                chosen.addAll(without(grant.content().ranges(), chosen));
            }
        }
        Map<String, GrantedRanges> attachmentsOn = byDevice(attachments);
        Map<String, GrantedRanges> pullsOn = byDevice(pulls);
        return new PeerGrants(
                incarnation,
                (int) Stream.concat(attachments.stream(), pulls.stream())
                        .filter(range -> !range.keys().isEmpty())
                        .count(),
                Stream.concat(attachmentsOn.keySet().stream(), pullsOn.keySet().stream())
                        .distinct()
                        .collect(Collectors.toMap(
                                device -> device,
                                device -> new DeviceGrants(
                                        attachmentsOn.getOrDefault(device, GrantedRanges.NOTHING),
                                        pullsOn.getOrDefault(device, GrantedRanges.NOTHING)))));
    }

    private static Map<String, GrantedRanges> byDevice(List<GrantContent.Range> ranges) {
        Map<String, List<GrantedRanges.Range>> byDevice = new HashMap<>();
        for (GrantContent.Range range : ranges) {
            for (RegionKey key : range.keys()) {
                byDevice.computeIfAbsent(key.device(), _ -> new ArrayList<>())
                        .add(new GrantedRanges.Range(
                                range.offset(), range.length(), range.address().value(), (int) key.rkey()));
            }
        }
        return byDevice.entrySet().stream()
                .collect(Collectors.toMap(Map.Entry::getKey, each -> GrantedRanges.of(each.getValue())));
    }

    private static List<GrantContent.Range> without(List<GrantContent.Range> ranges, List<GrantContent.Range> others) {
        List<GrantContent.Range> rest = ranges;
        for (GrantContent.Range other : others) {
            rest = rest.stream()
                    .flatMap(range -> range.without(other.offset(), other.length()))
                    .toList();
        }
        return rest;
    }
}
