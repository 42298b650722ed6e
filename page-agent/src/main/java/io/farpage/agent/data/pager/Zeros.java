package io.farpage.agent.data.pager;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** The largest page there is, all zeros: to copy from where the kernel cannot fill a page with zeros, and to compare with. */
final class Zeros {
    private static final long MAX_PAGE = 2 << 20;
    private static final MemorySegment PAGE =
            Arena.global().allocate(MAX_PAGE, Installer.BASE_PAGE).asReadOnly();

    private Zeros() {}

    static MemorySegment segment() {
        return PAGE;
    }

    static long address() {
        return PAGE.address();
    }
}
