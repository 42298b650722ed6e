package io.farpage.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("portable")
final class GidRangeTest {
    @ParameterizedTest
    @CsvSource({
        "fe80::/10, fe80::1, true",
        "fe80::/10, febf:ffff::1, true",
        "fe80::/10, fec0::1, false",
        "10.0.0.0/8, ::ffff:10.255.0.1, true",
        "10.0.0.0/8, ::ffff:11.0.0.1, false",
        "::ffff:10.0.0.0/104, ::ffff:10.255.0.1, true",
        "10.1.2.3, ::ffff:10.1.2.3, true",
        "10.1.2.3, ::ffff:10.1.2.4, false",
        "10.0.0.0/8, a00::1, false",
        "2001:db8::1, 2001:db8::1, true",
        "2001:db8::1, 2001:db8::2, false",
        "2001:db8:0:1::/64, 2001:db8:0:1:ffff::1, true",
        "2001:db8:0:1::/64, 2001:db8:0:2::1, false",
        "2001:db8::8000:0:0:0/65, 2001:db8::ffff:0:0:1, true",
        "2001:db8::8000:0:0:0/65, 2001:db8::7fff:0:0:1, false",
        "0.0.0.0/0, ::ffff:192.0.2.1, true",
        "0.0.0.0/0, fe80::1, false",
        "::/0, fe80::1, true",
        "fe800000000000000000000000000001, fe80::1, true"
    })
    void shouldContainWhatBeginsWithItsPrefix(String range, String gid, boolean contained) {
        // Java writes ::ffff:0:0/96 as IPv4, so the GID of such an address is made from that.
        Gid tried = Gid.parse(gid);
        assertEquals(contained, GidRange.parse(range).contains(tried));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "/8",
                "10.0.0.0/33",
                "10.0.0.0/",
                "10.0.0.0/x",
                "10.0.0/8",
                "256.0.0.1",
                "host",
                "fe80::/129",
                "fe80::/-1"
            })
    void shouldRefuseWhatIsNoRange(String text) {
        assertThrows(IllegalArgumentException.class, () -> GidRange.parse(text));
    }

    @Test
    void shouldRefuseBitsBehindThePrefix() {
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> GidRange.parse("10.1.0.0/8"));
        assertTrue(String.valueOf(refused.getMessage()).contains("bits set behind its prefix"), refused::toString);
    }

    @Test
    void shouldBeWrittenAsItIsRead() {
        for (String text : new String[] {"10.0.0.0/8", "10.1.2.3/32", "fe80:0:0:0:0:0:0:0/10"}) {
            assertEquals(text, GidRange.parse(text).toString());
        }
        assertFalse(GidRange.parse("10.0.0.0/8").toString().contains("ffff"));
    }
}
