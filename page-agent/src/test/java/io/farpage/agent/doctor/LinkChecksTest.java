package io.farpage.agent.doctor;

import static io.farpage.agent.doctor.FakeHost.line;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.linux.crypto.LibSsl;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The library that encrypts links: found, missing and needed, missing and not needed. */
final class LinkChecksTest {
    private static final String NOWHERE = "/nonexistent/libssl.so.3";

    @TempDir
    private Path directory = Path.of("");

    private Line libssl(Map<String, String> settings) {
        return line(new FakeHost(directory).examine(settings), "link.libssl");
    }

    @Test
    void shouldNameTheVersionOfLibssl() {
        LibSsl.Loading library = LibSsl.load(Optional.empty());
        assumeTrue(library instanceof LibSsl.Loading.Loaded, library::toString);

        Line found = libssl(Map.of());

        assertEquals(Level.OK, found.level());
        assertTrue(
                found.detail().matches("OpenSSL 3\\.\\d.* can encrypt links with .*if a peer requires it"),
                found.detail());
    }

    @Test
    void shouldFailWhenLinksMustBeEncryptedAndLibsslIsMissing() {
        Line missing = libssl(Map.of("link.ssl_library", NOWHERE, "link.encryption", "require"));

        assertEquals(Level.FAIL, missing.level());
        assertTrue(missing.detail().startsWith("cannot load " + NOWHERE), missing.detail());
        assertEquals("apt-get install -y libssl3", missing.fix());
    }

    @Test
    void shouldNotAskForLibsslWhenLinksMayGoInTheClear() {
        assertEquals(Level.OK, libssl(Map.of("link.ssl_library", NOWHERE)).level());
    }
}
