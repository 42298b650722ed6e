package io.farpage.agent.control.pins;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The processes are directories of files that look like those of proc(5). */
final class MappingSearchTest {
    private static final MappedFile RAM = new MappedFile(" 00:01 ", 7);
    private static final MappedFile OTHER_RAM = new MappedFile(" 00:01 ", 71);
    private static final MappedFile HUGE_RAM = new MappedFile(" 00:0f ", 7);
    private static final String HEAP = "55d4c0000000-55d4c0021000 rw-p 00000000 00:00 0          [heap]\n";

    private final AtomicLong clock = new AtomicLong();

    @SuppressWarnings("NullAway.Init") // set by JUnit
    @TempDir
    private Path proc;

    @SuppressWarnings("NullAway.Init") // set before each test
    private MappingSearch search;

    @BeforeEach
    void open() {
        search = new MappingSearch(proc.toFile(), clock::get);
    }

    @Test
    void shouldFindOwnersOfAllFilesInOnePass() throws IOException {
        process("11", HEAP + mapping(RAM, "/memfd:ram (deleted)") + mapping(OTHER_RAM, "/memfd:other (deleted)"));
        process("12", mapping(OTHER_RAM, "/memfd:other (deleted)") + HEAP);
        process("13", HEAP + mapping(HUGE_RAM, "/memfd:huge (deleted)"));
        process("self", mapping(RAM, "/memfd:ram (deleted)"));
        Files.createDirectory(proc.resolve("14"));
        List<MappingSearch.Watched> watched =
                Stream.of(RAM, OTHER_RAM, HUGE_RAM).map(search::watch).toList();
        assertEquals(
                List.of(Set.of(11), Set.of(11, 12), Set.of(13)),
                watched.stream().map(MappingSearch.Watched::lately).toList());
        assertEquals(1, search.passes());
    }

    @Test
    void shouldReadMoreMappingsThanItsBufferHolds() throws IOException {
        process("11", HEAP.repeat(10_000) + mapping(RAM, "/memfd:ram (deleted)"));
        assertEquals(Set.of(11), search.watch(RAM).now());
    }

    /** A process of another user chooses the paths of its own files. */
    @Test
    void shouldNotTakePathForDevice() throws IOException {
        process("11", mapping(new MappedFile(" fd:01 ", 9), "/tmp/a 00:01 7 b"));
        assertEquals(Set.of(), search.watch(RAM).now());
    }

    @Test
    void shouldSearchAgainAfterFiveSeconds() throws IOException {
        MappingSearch.Watched ram = search.watch(RAM);
        assertEquals(Set.of(), ram.lately());
        process("11", mapping(RAM, "/memfd:ram (deleted)"));
        clock.addAndGet(Duration.ofMillis(4_999).toNanos());
        assertEquals(Set.of(), ram.lately());
        clock.addAndGet(Duration.ofMillis(1).toNanos());
        assertEquals(Set.of(11), ram.lately());
        assertEquals(2, search.passes());
    }

    @Test
    void shouldSearchAtOnceForHandoff() throws IOException {
        MappingSearch.Watched ram = search.watch(RAM);
        assertEquals(Set.of(), ram.now());
        process("11", mapping(RAM, "/memfd:ram (deleted)"));
        assertEquals(Set.of(11), ram.now());
    }

    /** A pass that began before a request may have read a process before that mapped the memory. */
    @Test
    void shouldMakeOnePassForAllThatWaitedForAnother() throws Exception {
        MappingSearch.Watched ram = search.watch(RAM);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
                SlowProcess slow = new SlowProcess()) {
            Future<Set<Integer>> first = threads.submit(ram::now);
            slow.awaitReader();
            assertEquals(Set.of(), ram.lately(), "waits for no pass of another thread");
            process("11", mapping(RAM, "/memfd:ram (deleted)"));
            List<Future<Set<Integer>>> others = Stream.generate(() -> threads.submit((Callable<Set<Integer>>) ram::now))
                    .limit(5)
                    .toList();
            Deadlines.await("the others wait", Deadlines.LONG).until(() -> search.waiting() == others.size());
            slow.end();
            var _ = first.get();
            for (Future<Set<Integer>> other : others) {
                assertEquals(Set.of(11), other.get());
            }
        }
        assertEquals(2, search.passes());
    }

    /** Its mappings are read once they are written. */
    private final class SlowProcess implements AutoCloseable {
        private final Path maps = proc.resolve("10").resolve("maps");
        private final Process writer;

        SlowProcess() throws IOException, InterruptedException {
            Files.createDirectory(proc.resolve("10"));
            new ProcessBuilder("mkfifo", maps.toString()).start().waitFor();
            // Opening it for writing waits for the reader.
            writer = new ProcessBuilder("sh", "-c", "exec 3> \"$0\"; echo open; cat", maps.toString()).start();
        }

        void awaitReader() throws IOException {
            assertEquals("open", writer.inputReader().readLine());
        }

        void end() throws IOException {
            Files.delete(maps);
            writer.destroy();
        }

        @Override
        public void close() {
            writer.destroy();
        }
    }

    private void process(String pid, String maps) throws IOException {
        Files.writeString(Files.createDirectories(proc.resolve(pid)).resolve("maps"), maps);
    }

    private static String mapping(MappedFile file, String path) {
        return "7f0000000000-7f0000100000 rw-s 00000000%s%d                      %s\n"
                .formatted(file.device(), file.inode(), path);
    }
}
