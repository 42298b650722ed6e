package io.farpage.coordinator.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.HotSpotDiagnosticMXBean;
import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DoorsTest {

    @TempDir
    private Path directory = Path.of("");

    /**
     * Virtual threads that read the files of certificates: {@link Thread#getAllStackTraces} has platform threads alone.
     */
    private long readers() throws IOException {
        Path dump = directory.resolve("threads");
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
                .dumpThreads(dump.toString(), HotSpotDiagnosticMXBean.ThreadDumpFormat.TEXT_PLAIN);
        long count = Files.readString(dump)
                .lines()
                .filter(line -> line.contains("\"certificates\""))
                .count();
        Files.delete(dump);
        return count;
    }

    @Test
    void shouldReadCertificatesNoLongerOnceTheyAreClosed() throws Exception {
        long before = readers();
        try (Secured _ = new Secured(directory, Map.of())) {
            assertTrue(readers() > before);
        }
        Deadlines.await("the threads that read certificates end", Deadlines.SHORT)
                .until(() -> readers() == before);
    }
}
