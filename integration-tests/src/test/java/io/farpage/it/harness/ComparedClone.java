package io.farpage.it.harness;

import io.farpage.guest.command.CommandException;
import io.farpage.guest.content.PageContent;
import io.farpage.it.deadlines.Deadlines;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import tools.jackson.databind.JsonNode;

/**
 * A clone of a {@link CountedGuest}. Its guest compares all pages with what the source had at its pause, changes a
 * third of them, and compares all pages again when what it has changed is evicted. The next guest, on another node,
 * compares all pages once more. Agents may be killed and started again meanwhile: what an agent refuses or does not
 * answer is requested again. One thread, if not stated otherwise.
 */
public final class ComparedClone {
    private static final int PAGE = 4096;
    /** Consecutive comparisons read pages that are far apart. */
    private static final int STEP = 1009;

    private static final long UNCHANGED = -1;
    private static final long REMOVED = -2;
    private static final int OK = 200;
    private static final int NOT_FOUND = 404;
    private static final int UNREACHABLE = 0;
    private static final Duration POLL = Duration.ofMillis(20);
    /** An agent is started again, a lease runs out, and many guests begin beside this one. */
    private static final Duration PATIENCE = Deadlines.LONG.multipliedBy(4);

    private final String name;
    private final CountedPages pages;
    private final long stores;
    private final int localPages;
    private final Path directory;
    private final Function<String, Rest> agents;
    private final SplittableRandom random;
    private final long[] changes;
    private final List<String> wrong = new ArrayList<>();
    private final AtomicLong compared = new AtomicLong();
    private volatile boolean begun;
    private volatile long evictions;
    private volatile boolean forced;
    private int sockets;
    private Answer latest = new Answer(UNREACHABLE, "", new byte[0]);

    /**
     * @param name of the space, a clone
     * @param pages of the source
     * @param stores of the source until its pause
     * @param localPages the local limit
     * @param directory of sockets
     * @param agents the REST interface of the latest agent of a node; called by the thread of this clone
     */
    public ComparedClone(
            String name,
            CountedPages pages,
            long stores,
            int localPages,
            Path directory,
            Function<String, Rest> agents) {
        this.name = name;
        this.pages = pages;
        this.stores = stores;
        this.localPages = localPages;
        this.directory = directory;
        this.agents = agents;
        random = new SplittableRandom(pages.seed() ^ name.hashCode());
        changes = new long[pages.pages()];
        Arrays.fill(changes, UNCHANGED);
    }

    public String name() {
        return name;
    }

    /** Whether an agent serves or has served its guest. Any thread. */
    public boolean hasBegun() {
        return begun;
    }

    /** Pages compared so far. Any thread. */
    public long compared() {
        return compared.get();
    }

    /** Evictions of its first guest, since the latest agent serves it. Any thread. */
    public long evictions() {
        return evictions;
    }

    /**
     * Whether the space was attached as torn: its agent was killed before the VMM had handed over memory, so nothing
     * was written. Any thread.
     */
    public boolean wasForced() {
        return forced;
    }

    /**
     * Runs both guests.
     *
     * @return what was wrong
     */
    public List<String> run(String firstNode, String secondNode) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(PAGE, 8);
            PagedRam ram = begin(firstNode);
            begun = true;
            compareAll(ram, "its first guest", found);
            change(ram, found);
            awaitEvicted(firstNode);
            compareAll(ram, "its first guest, with changes", found);
            end(ram, firstNode);
            ram = begin(secondNode);
            compareAll(ram, "its next guest", found);
            end(ram, secondNode);
        }
        return List.copyOf(wrong);
    }

    private void compareAll(PagedRam ram, String reader, MemorySegment found) {
        for (int i = 0; i < pages.pages(); i++) {
            int page = (int) ((long) i * STEP % pages.pages());
            long got = ram.copyOut(page, found);
            compared.incrementAndGet();
            long at = got == PAGE ? wrongAt(page, found) : 0;
            if (at >= 0) {
                wrong.add("%s, %s: page %d (%s) is wrong at byte %d; the kernel gave %d"
                        .formatted(name, reader, page, changes[page] == UNCHANGED ? "base" : "own", at, got));
            }
        }
    }

    private long wrongAt(int page, MemorySegment found) {
        if (changes[page] == UNCHANGED) {
            return pages.wrongAt(found, page, stores);
        }
        return changes[page] == REMOVED
                ? CountedPages.nonZeroAt(found)
                : PageContent.verify(found, changes[page], page);
    }

    private void change(PagedRam ram, MemorySegment found) {
        for (int page = 0; page < pages.pages(); page++) {
            switch (random.nextInt(18)) {
                case 0 -> {
                    changes[page] = REMOVED;
                    ram.remove(page);
                }
                case 1, 2, 3, 4, 5 -> {
                    // A store to a lost page would end this JVM.
                    if (ram.copyOut(page, found) == PAGE) {
                        changes[page] = random.nextInt(Integer.MAX_VALUE);
                        ram.write(page, Pages.of(changes[page], page, PAGE));
                    } else {
                        wrong.add(name + " has lost page " + page);
                    }
                }
                default -> {}
            }
        }
    }

    private PagedRam begin(String node) {
        for (Deadlines.Wait wait = Deadlines.begin(name, PATIENCE); ; check(wait, "has a guest", node)) {
            Path socket = directory.resolve(name + "." + sockets++);
            String body = "{\"socket\": \"%s\", \"localBytes\": %d, \"force\": %b}"
                    .formatted(socket, (long) localPages * PAGE, forced);
            Answer answer = request(node, "PUT", "/guest", body);
            if (answer.status() == OK) {
                try {
                    return PagedRam.handOver(socket, pages.pages());
                } catch (CommandException e) {
                    // The agent was killed before it had taken the memory.
                    latest = new Answer(UNREACHABLE, String.valueOf(e), new byte[0]);
                }
            } else if (answer.text().contains("space-torn")) {
                forced = true;
            } else if (answer.text().contains("(waiting)")) {
                // The answer to an earlier request was lost.
                var _ = request(node, "DELETE", "/guest", "");
            }
        }
    }

    private void awaitEvicted(String node) {
        for (Deadlines.Wait wait = Deadlines.begin(name, PATIENCE); ; check(wait, "has evicted its pages", node)) {
            Answer status = request(node, "GET", "", "");
            if (isState(status, "attached")) {
                JsonNode now = status.json();
                evictions = now.get("evictions").asLong();
                if (now.get("residentPages").asInt() <= localPages) {
                    return;
                }
            }
        }
    }

    private void end(PagedRam ram, String node) {
        ram.close();
        for (Deadlines.Wait wait = Deadlines.begin(name, PATIENCE); ; check(wait, "has ended", node)) {
            Answer status = request(node, "GET", "", "");
            if (status.status() == NOT_FOUND) {
                return; // The agent was started again since the guest had ended.
            }
            if (isState(status, "ended")) {
                long lost = status.json().get("lostPages").asLong();
                if (lost > 0) {
                    wrong.add(name + " has lost " + lost + " pages");
                }
                var _ = request(node, "DELETE", "/guest", "");
                return;
            }
        }
    }

    private static boolean isState(Answer status, String state) {
        return status.status() == OK && status.json().get("state").asString().equals(state);
    }

    private Answer request(String node, String method, String path, String body) {
        try {
            latest = agents.apply(node).sendJson(method, "/api/v1/spaces/" + name + path, body);
        } catch (UncheckedIOException | IllegalStateException e) {
            latest = new Answer(UNREACHABLE, String.valueOf(e), new byte[0]);
        }
        return latest;
    }

    private void check(Deadlines.Wait wait, String what, String node) {
        if (wait.isOver()) {
            throw new AssertionError("%s does not show that it %s on node %s: %s".formatted(name, what, node, latest));
        }
        LockSupport.parkNanos(POLL.toNanos());
    }
}
