package io.farpage.agent.doctor;

import static io.farpage.agent.doctor.FakeHost.line;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.linux.crypto.LibCrypto;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The library that seals pages: found, missing and needed, missing and not needed. */
final class SealChecksTest {
    private static final String NOWHERE = "/nonexistent/libcrypto.so.3";

    @TempDir
    private Path directory = Path.of("");

    private Line libcrypto(Map<String, String> settings) {
        return line(new FakeHost(directory).examine(settings), "seal.libcrypto");
    }

    @Test
    void shouldNameTheVersionOfLibcrypto() {
        LibCrypto.Loading library = LibCrypto.load(Optional.empty());
        assumeTrue(library instanceof LibCrypto.Loading.Loaded, library::toString);

        Line found = libcrypto(Map.of());

        assertEquals(Level.OK, found.level());
        assertTrue(found.detail().matches("OpenSSL 3\\.\\d.* can seal pages"), found.detail());
    }

    @Test
    void shouldFailWhenKeysAreConfiguredAndLibcryptoIsMissing() {
        Line files = libcrypto(Map.of("seal.library", NOWHERE, "seal.keys", "/etc/farpage/keys"));
        Line command = libcrypto(Map.of("seal.library", NOWHERE, "seal.key_command", "kms"));

        assertEquals(Level.FAIL, files.level());
        assertEquals(Level.FAIL, command.level());
        assertTrue(files.detail().startsWith("cannot load " + NOWHERE), files.detail());
        assertEquals("apt-get install -y libssl3", files.fix());
    }

    @Test
    void shouldNotAskForLibcryptoWithoutKeys() {
        Line unneeded = libcrypto(Map.of("seal.library", NOWHERE));

        assertEquals(Level.OK, unneeded.level());
        assertTrue(unneeded.detail().contains("not needed: neither seal.keys nor seal.key_command"), unneeded.detail());
    }
}
