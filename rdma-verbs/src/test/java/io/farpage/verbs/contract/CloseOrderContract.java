package io.farpage.verbs.contract;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.CompletionChannel;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.ResourceBusyException;
import java.lang.foreign.Arena;
import java.util.EnumSet;
import org.junit.jupiter.api.Test;

/** Parents refuse to close while children live; closing is once and for all. */
public abstract class CloseOrderContract {
    protected abstract VerbsFixture open();

    private static void requireBusy(AutoCloseable parent, String child) {
        ResourceBusyException e = assertThrows(ResourceBusyException.class, parent::close);
        assertTrue(String.valueOf(e.getMessage()).contains("EBUSY"), e::toString);
        assertTrue(String.valueOf(e.getMessage()).contains(child), e::toString);
    }

    @Test
    void shouldRefuseToCloseParentsBeforeChildren() {
        try (VerbsFixture fixture = open();
                Arena arena = Arena.ofShared()) {
            Device device = fixture.a();
            ProtectionDomain domain = device.allocateProtectionDomain();
            CompletionChannel channel = device.createCompletionChannel();
            CompletionQueue queue = device.createCompletionQueue(256, channel);
            MemoryRegion region = domain.registerMemory(arena.allocate(4096, 4096), EnumSet.of(AccessFlag.LOCAL_WRITE));
            QueuePair queuePair = domain.createQueuePair(queue, queue, Connected.OPTIONS);

            requireBusy(device, "pd");
            requireBusy(domain, "qp");
            requireBusy(queue, "qp");
            requireBusy(channel, "cq");
            queuePair.close();
            queuePair.close();
            requireBusy(domain, "region");
            region.close();
            domain.close();
            domain.close();
            queue.close();
            queue.close();
            requireBusy(device, "channel");
            channel.close();
            channel.close();
        }
    }

    @Test
    void shouldOpenAndCloseManyTimes() {
        for (int i = 0; i < 20; i++) {
            try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
                pair.requireWorking();
            }
        }
    }

    @Test
    void shouldCloseAQueuePairWithWorkOutstanding() {
        try (Connected pair = new Connected(open(), Connected.OPTIONS)) {
            pair.send(1, 0, 64);
            for (int i = 0; i < 16; i++) {
                pair.read(i, 0, 0, 65536);
            }
            pair.qpA.close();
            pair.qpB.close();
        }
    }
}
