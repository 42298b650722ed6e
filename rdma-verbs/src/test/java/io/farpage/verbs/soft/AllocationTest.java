package io.farpage.verbs.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.it.deadlines.Allocations;
import io.farpage.verbs.SendFlag;
import java.time.Duration;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** In steady state neither side allocates anything. */
@Tag("portable")
final class AllocationTest {
    private static final int ROUND = 10_000;

    private final Set<Long> earlier = responders();

    /** The threads that serve queue pairs of this process now. */
    private static Set<Long> responders() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("soft-responder"))
                .map(Thread::threadId)
                .collect(Collectors.toSet());
    }

    private void requireNoAllocation(Allocations.Operation operation) {
        operation.run(1);
        Set<Long> own = responders();
        own.removeAll(earlier);
        assertFalse(own.isEmpty(), "no responder thread of this test runs");
        own.add(Thread.currentThread().threadId());
        Allocations.assertNone(own.stream().mapToLong(Long::longValue).toArray(), ROUND, operation);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldAllocateNothingPerRead(boolean sleeping) {
        requireNoAllocationPerRead(SoftOptions.DEFAULT, sleeping);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldAllocateNothingPerEncryptedRead(boolean sleeping) {
        EncryptedFixture.requireLibrary();
        requireNoAllocationPerRead(SoftOptions.DEFAULT.withEncryption(SoftOptions.Encryption.REQUIRED), sleeping);
    }

    private void requireNoAllocationPerRead(SoftOptions base, boolean sleeping) {
        SoftOptions options = base.withResponders(new SoftOptions.Responders(
                sleeping ? IdleStrategy.BLOCK : IdleStrategy.ADAPTIVE, Duration.ofNanos(20_000)));
        try (Loopback pair = new Loopback(options)) {
            requireNoAllocation(times -> {
                for (int i = 0; i < times; i++) {
                    pair.post(i, 4096);
                    assertTrue((sleeping ? pair.sleep() : pair.spin()).isSuccess());
                }
            });
        }
    }

    @Test
    void shouldAllocateNothingPerPipelinedReadAndWrite() {
        requireNoAllocationPerPipelinedReadAndWrite(SoftOptions.DEFAULT);
    }

    @Test
    void shouldAllocateNothingPerEncryptedPipelinedReadAndWrite() {
        EncryptedFixture.requireLibrary();
        requireNoAllocationPerPipelinedReadAndWrite(
                SoftOptions.DEFAULT.withEncryption(SoftOptions.Encryption.REQUIRED));
    }

    private void requireNoAllocationPerPipelinedReadAndWrite(SoftOptions options) {
        try (Loopback pair = new Loopback(options)) {
            requireNoAllocation(times -> {
                for (int i = 0; i < times; i += 16) {
                    for (int k = 0; k < 8; k++) {
                        pair.from.prepareRead(
                                k,
                                pair.callerMemory.address() + k * 4096L,
                                4096,
                                pair.callerRegion.lkey(),
                                pair.serverMemory.address(),
                                pair.serverRegion.rkey(),
                                SendFlag.NONE);
                        pair.from.prepareWrite(
                                k,
                                pair.callerMemory.address(),
                                512,
                                pair.callerRegion.lkey(),
                                pair.serverMemory.address() + 8192,
                                pair.serverRegion.rkey(),
                                k == 7 ? SendFlag.SIGNALED : SendFlag.NONE);
                    }
                    pair.from.postSend();
                    assertEquals(7, pair.spin().wrId());
                }
            });
        }
    }
}
