package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * Where the pages of a guest are, over its address space. The space has up to 256 parts of equal size. The lists have
 * the percentage of each part's pages that are in a state, rounded up, so that a single page is seen. A part with more
 * than 32,768 pages is sampled at 32,768 evenly spaced pages.
 *
 * @param resident in the memory of its host
 * @param dirty those of them that are newer than at their homes
 * @param remote at their homes, or being fetched
 * @param zero never written, or given up
 * @param lost lost with their homes
 */
public record PageMap(
        @JsonProperty(required = true) List<Integer> resident,
        @JsonProperty(required = true) List<Integer> dirty,
        @JsonProperty(required = true) List<Integer> remote,
        @JsonProperty(required = true) List<Integer> zero,
        @JsonProperty(required = true) List<Integer> lost) {

    /** Parts at most. */
    public static final int MAX_PARTS = 256;

    private static final int WHOLE = 100;

    /** Checks the lists, and copies them. */
    public PageMap {
        resident = checked("resident", resident, resident.size());
        dirty = checked("dirty", dirty, resident.size());
        remote = checked("remote", remote, resident.size());
        zero = checked("zero", zero, resident.size());
        lost = checked("lost", lost, resident.size());
    }

    private static List<Integer> checked(String field, List<Integer> percent, int parts) {
        Check.range(field + ": number of elements", percent.size(), 1, MAX_PARTS);
        if (percent.size() != parts) {
            throw new IllegalArgumentException(
                    "%s: has %d elements, and resident has %d".formatted(field, percent.size(), parts));
        }
        percent.forEach(one -> Check.range(field, one, 0, WHOLE));
        return List.copyOf(percent);
    }

    /** Parts that the space is in. */
    public int parts() {
        return resident.size();
    }
}
