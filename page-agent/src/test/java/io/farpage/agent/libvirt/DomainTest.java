package io.farpage.agent.libvirt;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.guest.GuestRequest;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class DomainTest {
    private static final String XML = """
            <domain type='kvm' id='3' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
              <name>demo</name>
              <metadata>
                <other:thing xmlns:other='urn:other'><guest local='1GiB'/></other:thing>
                <farpage:guest xmlns:farpage='urn:farpage:guest:1' local='64MiB' replicas='2' homes='b,c' \
            encrypted='yes'/>
              </metadata>
              <memory unit='MiB'>512</memory>
              <memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>
              <devices><disk><source file='/x'/></disk></devices>
              <qemu:commandline>
                <qemu:env name='LD_PRELOAD' value='/usr/lib/farpage/lib/libfarpage-preload.so'/>
                <qemu:env name='FARPAGE_SOCKET' value='/run/farpage/guests/demo.sock'/>
              </qemu:commandline>
            </domain>
            """;

    private static Domain domain(String xml) throws DomainException {
        return Domain.read(new ByteArrayInputStream(xml.getBytes(StandardCharsets.UTF_8)));
    }

    private static String refusal(String from, String to) {
        assertTrue(XML.contains(from), from);
        return String.valueOf(assertThrows(
                        DomainException.class,
                        () -> domain(XML.replace(from, to)).request())
                .getMessage());
    }

    @Test
    void shouldAskForWhatTheMetadataSays() throws DomainException {
        Domain domain = domain(XML);
        assertTrue(domain.isRemote());
        assertEquals("demo", domain.space());
        GuestRequest request = domain.request();
        assertEquals("/run/farpage/guests/demo.sock", request.socket());
        assertEquals(OptionalLong.of(512L << 20), request.sizeBytes());
        assertEquals(OptionalLong.of(64L << 20), request.localBytes());
        assertEquals(OptionalInt.of(2), request.replicas());
        assertEquals(Optional.of(List.of("b", "c")), request.homes());
        assertEquals(Optional.of(true), request.encrypted());
        assertEquals(OptionalInt.empty(), request.prefetchPages());
        assertEquals(Optional.empty(), request.force());
        assertEquals(
                "other", domain(XML.replace("local='64MiB'", "space='other'")).space());
    }

    @Test
    void shouldLeaveOtherDomainsAlone() throws DomainException {
        assertFalse(domain(XML.replace("urn:farpage:guest:1", "urn:another")).isRemote());
        assertFalse(domain("<domain><name>plain</name></domain>").isRemote());
    }

    @ParameterizedTest
    @CsvSource({"KiB,2048,2097152", "'',2048,2097152", "G,1,1073741824", "MB,1,1000000", "bytes,4096,4096"})
    void shouldReadTheUnitsOfLibvirt(String unit, String number, long bytes) throws DomainException {
        String memory = "<memory unit='%s'>%s</memory>".formatted(unit, number);
        assertEquals(
                OptionalLong.of(bytes),
                domain(XML.replace("<memory unit='MiB'>512</memory>", memory))
                        .request()
                        .sizeBytes());
    }

    @Test
    void shouldNameWhatToChange() {
        assertTrue(refusal("<source type='memfd'/>", "").endsWith("<access mode='shared'/></memoryBacking>"));
        assertTrue(refusal("mode='shared'", "mode='private'").contains("its RAM must be a shared memfd"));
        assertTrue(refusal("<source type='memfd'/>", "<source type='memfd'/><locked/>")
                .contains("<locked>"));
        assertTrue(refusal("LD_PRELOAD", "OTHER").contains("<qemu:env name='LD_PRELOAD'"));
        assertTrue(refusal("FARPAGE_SOCKET", "OTHER").contains("<qemu:env name='FARPAGE_SOCKET'"));
        assertTrue(refusal("'/run/farpage/guests/demo.sock'", "'demo.sock'").contains("FARPAGE_SOCKET"));
        assertTrue(refusal("local='64MiB'", "local='much'").contains("local='much', which is not valid"));
        assertTrue(refusal("local='64MiB'", "locals='64MiB'").contains("no attribute 'locals'; it has space, local"));
        assertTrue(refusal("encrypted='yes'", "encrypted='true'").contains("it is 'yes' or 'no'"));
        assertTrue(refusal("<memory unit='MiB'>512</memory>", "<memory unit='PiB'>1</memory>")
                .contains("is not a size"));
        assertTrue(refusal("<memory unit='MiB'>512</memory>", "<memory unit='TiB'>99999999</memory>")
                .contains("is not a size"));
    }

    @Test
    void shouldReadNoEntitiesAndNothingElse() {
        String entity = "<!DOCTYPE domain [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>" + XML.replace("demo<", "&x;<");
        assertThrows(DomainException.class, () -> domain(entity));
        assertThrows(DomainException.class, () -> domain("<network><name>n</name></network>"));
        assertThrows(DomainException.class, () -> domain("no xml"));
        assertThrows(DomainException.class, () -> domain(""));
    }
}
