package io.farpage.agent.control.guest;

import java.util.List;

/** In place of the class of the same name: descriptors of the simulation are in order. */
final class Descriptors {
    private Descriptors() {}

    static void check(List<Integer> descriptors, List<Slice> slices) {
        if (descriptors.size() != slices.size() + 1) {
            throw new IllegalStateException(descriptors.size() + " descriptors");
        }
    }
}
