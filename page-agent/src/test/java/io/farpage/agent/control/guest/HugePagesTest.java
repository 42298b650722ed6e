package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.page.GuestRegion;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.StringReader;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HugePagesTest {
    private static final long RAM = 0x7f00_0000_0000L;
    private static final List<GuestRegion> REGIONS =
            List.of(new GuestRegion(RAM, 1 << 20, 0), new GuestRegion(RAM + (1 << 24), 1 << 20, 1 << 20));

    @ParameterizedTest
    @CsvSource({
        "advise, hg, true",
        "advise, nh, false",
        "advise, '', false",
        "always, '', true",
        "within_size, '', true",
        "always, hg, true",
        "always, nh, false"
    })
    void shouldRefuseMemoryThatMayBecomeHugePages(String setting, String flag, boolean refused) throws IOException {
        String others = mapping(0x5555_0000_0000L, "hg");
        Optional<String> obstacle = obstacle(setting, others + mapping(RAM, "nh") + mapping(RAM + (1 << 24), flag));
        assertEquals(refused, obstacle.isPresent());
        obstacle.ifPresent(why -> assertTrue(why.contains("shmem_enabled is " + setting), why));
        assertEquals(Optional.empty(), obstacle(setting, others), "no mapping of the RAM");
    }

    private static Optional<String> obstacle(String setting, String smaps) throws IOException {
        return HugePages.obstacle(setting, new BufferedReader(new StringReader(smaps)), REGIONS);
    }

    private static String mapping(long start, String flag) {
        return """
            %x-%x rw-s 00000000 00:01 7    /memfd:ram (deleted)
            Size:               1024 kB
            VmFlags: rd wr sh mr mw me ms um uw %s
            """.formatted(start, start + (1 << 20), flag);
    }
}
