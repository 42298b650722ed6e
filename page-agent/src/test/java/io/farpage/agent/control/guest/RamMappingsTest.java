package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.agent.data.pager.page.GuestRegion;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.StringReader;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RamMappingsTest {
    private static final long RAM = 0x7f00_0000_0000L;
    private static final int BYTES = 1 << 20;

    @ParameterizedTest
    @CsvSource({"'', '', '', false", "'', '', ui, false", "'', ui, '', true", "ui, '', '', true"})
    void shouldFindMinorRegistrationOfItsRegionsAlone(String first, String second, String other, boolean filled)
            throws IOException {
        String smaps = mapping(RAM, first) + mapping(RAM + BYTES, second) + mapping(RAM + 2 * BYTES, other);
        assertEquals(
                filled,
                RamMappings.areFilledByVmm(
                        new BufferedReader(new StringReader(smaps)), List.of(new GuestRegion(RAM, 2 * BYTES, 0))));
    }

    private static String mapping(long start, String flag) {
        return """
            %x-%x rw-s 00000000 00:01 7    /memfd:ram (deleted)
            Size:               1024 kB
            VmFlags: rd wr sh mr mw me ms um uw %s
            """.formatted(start, start + BYTES, flag);
    }
}
