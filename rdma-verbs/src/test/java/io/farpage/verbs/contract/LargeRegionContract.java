package io.farpage.verbs.contract;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.SendFlag;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Regions may be larger than an int can count. */
public abstract class LargeRegionContract {
    private static final long SIZE = 5L << 30;

    protected abstract VerbsFixture open();

    @Test
    void shouldReadAndWriteBeyondTwoGibibytes(@TempDir Path directory) throws IOException {
        try (Connected pair = new Connected(open(), Connected.OPTIONS);
                Arena arena = Arena.ofShared();
                FileChannel file = FileChannel.open(
                        directory.resolve("sparse"),
                        StandardOpenOption.CREATE_NEW,
                        StandardOpenOption.SPARSE,
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE)) {
            Assumptions.assumeFalse(pair.fixture.pinsMemory(), "the device pins what is registered: 5 GiB here");
            MemorySegment memory = file.map(MapMode.READ_WRITE, 0, SIZE, arena);
            try (MemoryRegion region = pair.b.domain.registerMemory(memory, Side.ALL)) {
                assertEquals(SIZE, region.length());
                long last = SIZE - 8;
                memory.set(JAVA_LONG, last, 0xFEEDL);
                pair.qpA.prepareRead(
                        1,
                        pair.a.address(0),
                        8,
                        pair.a.region.lkey(),
                        region.address() + last,
                        region.rkey(),
                        SendFlag.SIGNALED);
                pair.qpA.prepareWrite(
                        2,
                        pair.a.address(0),
                        8,
                        pair.a.region.lkey(),
                        region.address() + (3L << 30),
                        region.rkey(),
                        SendFlag.SIGNALED | SendFlag.FENCE);
                pair.qpA.postSend();
                pair.a.polling().success(1);
                pair.a.polling().success(2);
                assertEquals(0xFEEDL, pair.a.memory.get(JAVA_LONG, 0));
                assertEquals(0xFEEDL, memory.get(JAVA_LONG, 3L << 30));
            }
        }
    }
}
