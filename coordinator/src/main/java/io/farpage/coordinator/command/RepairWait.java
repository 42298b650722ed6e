package io.farpage.coordinator.command;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Repair;
import io.farpage.progress.Progress;
import io.farpage.progress.ProgressOption;
import io.farpage.progress.Unit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Waits until a space has all its homes, and tells how far its repair is. */
final class RepairWait {
    private static final Duration POLL = Duration.ofMillis(200);

    private final CoordinatorClient client;
    private final String space;

    /** @param space name or id */
    RepairWait(CoordinatorClient client, String space) {
        this.client = client;
        this.space = space;
    }

    static IllegalArgumentException absent(String space) {
        return new IllegalArgumentException("there is no space '%s'".formatted(space));
    }

    /**
     * Waits. Returns the state that it ended with: whole, or pages are lost, which no repair changes, or the time is
     * over.
     */
    Repair await(Duration most, ProgressOption option) throws CoordinatorException, InterruptedException {
        long end = System.nanoTime() + most.toNanos();
        Repair now = ask();
        long beginning = now.leftBytes();
        try (Progress progress = option.start("repair " + space, Unit.BYTES)) {
            progress.total(beginning);
            while (isGettingOn(now) && end - System.nanoTime() > 0) {
                Thread.sleep(POLL);
                now = ask();
                progress.done(beginning - now.leftBytes());
            }
            if (now.whole() && beginning > 0) {
                progress.finish();
            }
        }
        return now;
    }

    private static boolean isGettingOn(Repair repair) {
        return !repair.whole() && repair.bytes() > 0;
    }

    private Repair ask() throws CoordinatorException {
        return client.repair(space).orElseThrow(() -> absent(space));
    }

    /** Why a space does not have all its homes, a line each; nothing if it has. */
    static List<String> explain(Repair repair) {
        List<String> lines = new ArrayList<>();
        if (repair.lostExtents() > 0) {
            lines.add("  the pages of %d extents are lost; no repair brings them back".formatted(repair.lostExtents()));
        }
        if (repair.bytes() > 0) {
            lines.add("  copies of %d bytes are missing, %d of them copied"
                    .formatted(repair.bytes(), repair.copiedBytes()));
        }
        repair.reasons().forEach(reason -> lines.add("  " + reason));
        return lines;
    }
}
