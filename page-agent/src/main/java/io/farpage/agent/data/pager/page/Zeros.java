package io.farpage.agent.data.pager.page;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** A page of zeros of the largest size, for comparing pages and for UFFDIO_COPY where the kernel has no ZEROPAGE. */
public final class Zeros {
    private static final long MAX_PAGE = 2 << 20;
    private static final MemorySegment PAGE =
            Arena.global().allocate(MAX_PAGE, GuestLayout.BASE_PAGE).asReadOnly();

    private Zeros() {}

    public static MemorySegment segment() {
        return PAGE;
    }

    /** Whether up to a page of bytes are all zeros. */
    public static boolean are(MemorySegment bytes) {
        return bytes.mismatch(PAGE.asSlice(0, bytes.byteSize())) < 0;
    }

    public static long address() {
        return PAGE.address();
    }
}
