package io.farpage.verbs.soft;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The connections that are in their handshake, oldest first. When there are too many, one ends of the address that has
 * the most: so a flood from one address ends its own connections and not those of other peers. An IPv6 address counts
 * by its /64. Used by the listener's thread.
 */
final class Newcomers {
    private static final int PREFIX_BYTES = 8;

    private final List<Handshake> all = new ArrayList<>();
    private final int most;

    /** @param most handshakes at once */
    Newcomers(int most) {
        this.most = most;
    }

    /** Adds a handshake, and returns the one that has to end for it. */
    Optional<Handshake> add(Handshake handshake) {
        Optional<Handshake> victim = all.size() < most ? Optional.empty() : removeHeaviest(/* parkedToo= */ true);
        all.add(handshake);
        return victim;
    }

    /** Removes a connection that has not said hello or has not proven itself, if there is one. */
    Optional<Handshake> removeStranger() {
        return removeHeaviest(/* parkedToo= */ false);
    }

    /** All of them; the iterator may remove. */
    Iterator<Handshake> iterator() {
        return all.iterator();
    }

    List<Handshake> all() {
        return all;
    }

    /**
     * Silent connections go before those that have yet to prove themselves, and these before those that wait for their
     * queue pair.
     */
    private Optional<Handshake> removeHeaviest(boolean parkedToo) {
        Map<InetAddress, Integer> counts = new HashMap<>();
        all.forEach(each -> counts.merge(group(each.from()), 1, Integer::sum));
        Optional<Handshake> victim = Optional.empty();
        int heaviest = 0;
        for (Handshake each : all) {
            if (each.isParked() && !parkedToo) {
                continue;
            }
            // If two have the same weight, the older one ends.
            int weight = counts.getOrDefault(group(each.from()), 0) * 3 + rank(each);
            if (weight > heaviest) {
                heaviest = weight;
                victim = Optional.of(each);
            }
        }
        victim.ifPresent(all::remove);
        return victim;
    }

    private static int rank(Handshake handshake) {
        if (handshake.isParked()) {
            return 0;
        }
        return handshake.isSilent() ? 2 : 1;
    }

    private static InetAddress group(InetAddress address) {
        if (!(address instanceof Inet6Address)) {
            return address;
        }
        byte[] bytes = address.getAddress();
        Arrays.fill(bytes, PREFIX_BYTES, bytes.length, (byte) 0);
        try {
            return InetAddress.getByAddress(bytes);
        } catch (java.net.UnknownHostException e) {
            throw new IllegalStateException("16 bytes are an address", e);
        }
    }
}
