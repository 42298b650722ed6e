package io.farpage.limit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Identity;
import io.farpage.access.Role;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class RateLimitsTest {

    private static final Identity NODE = new Identity.Node("a");
    private static final Identity STRANGER = new Identity.Stranger("it has shown nothing");
    private static final Duration SECOND = Duration.ofSeconds(1);

    private final AtomicLong now = new AtomicLong(Long.MAX_VALUE - SECOND.toNanos());
    private final RateLimits limits = new RateLimits(
            new RateLimits.Options(
                    new RateLimits.Rate(10, 20),
                    new RateLimits.Rate(2, 5),
                    new RateLimits.Attempts(3, SECOND, Duration.ofSeconds(10)),
                    3),
            now::get);

    private void pass(Duration time) {
        now.addAndGet(time.toNanos());
    }

    private int taken(Identity identity, String address, int tries) {
        int taken = 0;
        for (int i = 0; i < tries; i++) {
            taken += limits.request(identity, address).isEmpty() ? 1 : 0;
        }
        return taken;
    }

    @Test
    void shouldTakeABurstAndThenTheRate() {
        assertEquals(20, taken(NODE, "10.0.0.1", 100));
        pass(SECOND);
        assertEquals(10, taken(NODE, "10.0.0.1", 100));
        pass(Duration.ofHours(1));
        assertEquals(20, taken(NODE, "10.0.0.1", 100), "no more than the burst gathers");
    }

    @Test
    void shouldBoundConnectionsPerAddressAndForgetAddressesWithoutAny() {
        AddressConnections connections = limits.connections(100);
        assertEquals(3, connections.most());
        for (int i = 0; i < 3; i++) {
            assertTrue(connections.opened("10.0.0.1"));
        }
        assertFalse(connections.opened("10.0.0.1"), "a fourth");
        assertEquals(1, limits.refused(RateLimits.Limit.CONNECTIONS));
        assertTrue(connections.opened("10.0.0.2"), "of another address");
        assertTrue(connections.opened("2001:db8::1"));
        assertTrue(connections.opened("2001:db8::2:1"));
        assertTrue(connections.opened("2001:db8:0:0:7::"));
        assertFalse(connections.opened("2001:db8::3"), "the /64 counts");
        connections.closed("10.0.0.1");
        assertTrue(connections.opened("10.0.0.1"));
        for (int i = 0; i < 3; i++) {
            connections.closed("10.0.0.1");
            connections.closed("2001:db8::9");
        }
        connections.closed("10.0.0.2");
        assertEquals(0, connections.addresses());
        assertEquals(2, limits.connections(4).most(), "half of what is possible");
    }

    @Test
    void shouldSayHowLongToWait() {
        taken(NODE, "10.0.0.1", 20);
        assertEquals(Optional.of(Duration.ofMillis(100)), limits.request(NODE, "10.0.0.1"));
        pass(Duration.ofMillis(100));
        assertEquals(Optional.empty(), limits.request(NODE, "10.0.0.1"));
    }

    @Test
    void shouldNotLetStrangersUseUpWhatANodeAtTheSameAddressHas() {
        assertEquals(5, taken(STRANGER, "10.0.0.1", 1_000));
        assertEquals(20, taken(NODE, "10.0.0.1", 20));
        assertEquals(20, taken(new Identity.Node("b"), "10.0.0.1", 20));
        assertEquals(20, taken(new Identity.Principal("a", Role.VIEWER, "token"), "10.0.0.1", 20));
        assertEquals(995, limits.refused(RateLimits.Limit.ADDRESS));
        assertEquals(0, limits.refused(RateLimits.Limit.IDENTITY));
    }

    @Test
    void shouldLimitClientsOfAnOpenServiceByAddress() {
        assertEquals(5, taken(new Identity.Unauthenticated(), "10.0.0.1", 100));
        assertEquals(5, taken(new Identity.Unauthenticated(), "10.0.0.2", 100));
    }

    @Test
    void shouldCountASlash64OfIpv6AsOneAddress() {
        assertEquals(5, taken(STRANGER, "2001:db8:0:1::1", 5));
        assertEquals(0, taken(STRANGER, "[2001:db8:0:1:ffff:0:0:9]", 5));
        assertEquals(0, taken(STRANGER, "2001:0db8:0000:0001:1::", 5));
        assertEquals(5, taken(STRANGER, "2001:db8:0:2::1", 5));
        assertEquals(5, taken(STRANGER, "fe80::1%eth0", 5));
        assertEquals(0, taken(STRANGER, "fe80::2", 5));
        assertEquals(5, taken(STRANGER, "::ffff:192.0.2.1", 5));
        assertEquals(0, taken(STRANGER, "192.0.2.1", 5));
    }

    @Test
    void shouldPauseLongerWithEachRunOfFailuresAndForgetAfterASilence() {
        assertEquals(Optional.empty(), failUntilPause());
        limits.failed("10.0.0.9");
        limits.failed("10.0.0.9");
        assertEquals(Optional.of(SECOND), limits.pause("10.0.0.9"), "the third failure begins a pause");
        assertEquals(Optional.empty(), limits.pause("10.0.0.8"));
        for (int seconds : new int[] {2, 4, 8, 10, 10}) {
            pass(limits.pause("10.0.0.9").orElseThrow());
            limits.failed("10.0.0.9");
            assertEquals(Optional.of(Duration.ofSeconds(seconds)), limits.pause("10.0.0.9"));
        }
        pass(Duration.ofMinutes(5));
        limits.failed("10.0.0.9");
        assertEquals(Optional.empty(), limits.pause("10.0.0.9"));
        limits.failed("10.0.0.9");
        limits.failed("10.0.0.9");
        assertEquals(Optional.of(SECOND), limits.pause("10.0.0.9"));
    }

    private Optional<Duration> failUntilPause() {
        limits.failed("10.0.0.9");
        return limits.pause("10.0.0.9");
    }

    @Test
    void shouldRememberABoundedNumberOfAddresses() {
        TokenBuckets buckets = new TokenBuckets(new RateLimits.Rate(1, 1), RateLimits.MOST_KEYS, now::get);
        FailedAttempts attempts =
                new FailedAttempts(new RateLimits.Attempts(1, SECOND, SECOND), RateLimits.MOST_KEYS, now::get);
        for (int i = 0; i < 200_000; i++) {
            String address = "10.%d.%d.%d".formatted(i >> 16, i >> 8 & 0xff, i & 0xff);
            buckets.take(address);
            attempts.failed(address);
            assertTrue(i % 5_000 != 0 || buckets.take("192.0.2.1") >= 0);
        }
        assertEquals(RateLimits.MOST_KEYS, buckets.size());
        assertEquals(RateLimits.MOST_KEYS, attempts.size());
        assertTrue(buckets.take("192.0.2.1") > 0, "an address that is used stays");
    }
}
