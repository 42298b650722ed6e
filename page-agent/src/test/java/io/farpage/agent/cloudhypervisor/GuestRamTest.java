package io.farpage.agent.cloudhypervisor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GuestRamTest {
    private static GuestRam ram(String config) {
        return GuestRam.of(config.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void shouldPutRangesBehindEachOtherInTheOrderOfTheirAddresses() {
        GuestRam ram =
                ram("{\"memory_manager_data\":{\"guest_ram_mappings\":[{\"gpa\":4294967296,\"size\":8192},{\"gpa\":0,"
                        + "\"size\":4096}]}}");
        assertEquals(12288, ram.size());
        assertEquals(OptionalLong.of(0), ram.offset(0, 4096));
        assertEquals(OptionalLong.of(4096), ram.offset(1L << 32, 8192));
        assertEquals(OptionalLong.of(8192), ram.offset((1L << 32) + 4096, 4096));
        for (long[] outside :
                new long[][] {{0, 8192}, {4096, 4096}, {-4096, 4096}, {(1L << 32) + 4096, 8192}, {Long.MAX_VALUE, 4096}
                }) {
            assertEquals(OptionalLong.empty(), ram.offset(outside[0], outside[1]), Long.toHexString(outside[0]));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "nonsense",
                "{}",
                "{\"memory_manager_data\":{\"guest_ram_mappings\":[]}}",
                "{\"memory_manager_data\":{\"guest_ram_mappings\":[{\"gpa\":1,\"size\":4096}]}}",
                "{\"memory_manager_data\":{\"guest_ram_mappings\":[{\"gpa\":0,\"size\":-4096}]}}",
                "{\"memory_manager_data\":{\"guest_ram_mappings\":[{\"gpa\":0}]}}",
                "{\"memory_manager_data\":{\"guest_ram_mappings\":[{\"gpa\":0,\"size\":8192},{\"gpa\":4096,"
                        + "\"size\":4096}]}}"
            })
    void shouldRefuseAConfigurationThatSaysNothingOfTheRam(String config) {
        assertThrows(IllegalArgumentException.class, () -> ram(config));
    }
}
