package io.farpage.it.harness;

import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Extent;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Which home each extent of a space is read from, and every change of that, as often as it is asked for. One thread.
 */
public final class ReaderWatch {
    private final CoordinatorClient client;
    private final String space;
    private final long begun = System.nanoTime();
    private final List<Change> changes = new ArrayList<>();
    private List<String> readers;
    private boolean settled;

    /**
     * An extent that is read from another home.
     *
     * @param seconds since the watch began, when that was seen
     * @param extent its number in the space
     */
    public record Change(double seconds, int extent, String from, String to) {
        @Override
        public String toString() {
            return "%.1f s: extent %d from %s to %s".formatted(seconds, extent, from, to);
        }
    }

    /** Begins. */
    public ReaderWatch(CoordinatorClient client, String space) throws CoordinatorException {
        this.client = client;
        this.space = space;
        readers = ask();
    }

    private List<String> ask() throws CoordinatorException {
        List<Extent> extents = client.extents(space).orElseThrow().extents();
        settled = extents.stream()
                .allMatch(extent ->
                        extent.joining().isEmpty() && extent.droppedHomes().isEmpty());
        return extents.stream().map(extent -> extent.primary().node()).toList();
    }

    /** Looks again. */
    public void look() throws CoordinatorException {
        List<String> before = readers;
        readers = ask();
        double now = seconds();
        for (int i = 0; i < readers.size(); i++) {
            if (!readers.get(i).equals(before.get(i))) {
                changes.add(new Change(now, i, before.get(i), readers.get(i)));
            }
        }
    }

    /** Since the watch began. */
    public double seconds() {
        return (System.nanoTime() - begun) / 1e9;
    }

    /** All so far. */
    public List<Change> changes() {
        return List.copyOf(changes);
    }

    /** When the last change was seen, in seconds since the watch began; 0 if there was none. */
    public double lastChange() {
        return changes.isEmpty() ? 0 : changes.getLast().seconds();
    }

    /** Whether no extent had a home that joined, or one that was dropped and not yet given up, at the last look. */
    public boolean isSettled() {
        return settled;
    }

    /** How many of the extents from {@code first} to before {@code end} are read from a home. */
    public long readFrom(String home, int first, int end) {
        return IntStream.range(first, end)
                .filter(extent -> readers.get(extent).equals(home))
                .count();
    }
}
