package io.farpage.guest.vmm;

/** What a guest's program says through its ports, see {@link GuestCode}. Filled by the vCPU's thread. */
final class GuestReport implements Vcpu.Ports {
    private final int[] halves = new int[GuestCode.FOUND_PORT + 2 - GuestCode.VISITED_PORT];

    @Override
    public void out(int port, int value) {
        halves[port - GuestCode.VISITED_PORT] = value;
    }

    /** Pages visited. */
    long visited() {
        return value(GuestCode.VISITED_PORT);
    }

    /** Words that did not hold what they should. */
    long mismatches() {
        return value(GuestCode.MISMATCHES_PORT);
    }

    /** Describes the first of them. */
    String firstMismatch(Content expected) {
        long address = value(GuestCode.FIRST_BAD_PORT);
        return "page %d holds 0x%x at byte %d, expected 0x%x"
                .formatted(
                        address / PageRange.PAGE_BYTES,
                        value(GuestCode.FOUND_PORT),
                        address % PageRange.PAGE_BYTES,
                        expected.at(address));
    }

    private long value(int port) {
        int low = halves[port - GuestCode.VISITED_PORT];
        int high = halves[port + 1 - GuestCode.VISITED_PORT];
        return Integer.toUnsignedLong(low) | (long) high << Integer.SIZE;
    }
}
