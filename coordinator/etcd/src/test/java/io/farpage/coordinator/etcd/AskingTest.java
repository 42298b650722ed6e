package io.farpage.coordinator.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.PutOption;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.StoreException;
import io.farpage.coordinator.store.Table;
import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Members that answer, that refuse, and that take a call and are silent, as one is that is cut off from the others. */
@Tag("portable")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("processes")
class AskingTest {

    private static final Duration DEADLINE = Duration.ofSeconds(6);

    private Optional<EtcdMember> started = Optional.empty();

    @BeforeAll
    void startEtcd(@TempDir Path directory) {
        started = Optional.of(EtcdMember.start(directory));
    }

    @AfterAll
    void endEtcd() {
        started.ifPresent(EtcdMember::close);
    }

    private String member() {
        return started.orElseThrow().url();
    }

    private static Members members(String... urls) {
        return Members.of(
                List.of(urls), url -> Connections.builder(url, DEADLINE).build());
    }

    private static ServerSocket silent() throws IOException {
        return new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    }

    private static String url(ServerSocket socket) {
        return "http://127.0.0.1:" + socket.getLocalPort();
    }

    private static <T> T within(Duration limit, Supplier<T> operation) {
        Deadlines.Wait wait = Deadlines.begin("the answer", limit);
        T result = operation.get();
        wait.check();
        return result;
    }

    private static List<Op> put(Etcd etcd, String path) {
        return List.of(Op.put(etcd.key(path), Etcd.bytes("x"), PutOption.DEFAULT));
    }

    @Test
    void shouldStayWithTheNextMemberWhenOneIsSilent() throws IOException {
        try (ServerSocket silent = silent();
                Members members = members(url(silent), member())) {
            Etcd etcd = new Etcd(members, "/silent", DEADLINE);
            assertTrue(within(DEADLINE.dividedBy(2), () -> etcd.commit("put", List.of(), put(etcd, "a"))));
            assertEquals(
                    Optional.of("x"),
                    within(DEADLINE.dividedBy(4), () -> etcd.get("a")),
                    "the silent one is not asked");
        }
    }

    @Test
    void shouldAskTheNextMemberAtOnceWhenOneRefuses() {
        try (Members members = members(EtcdMember.freeUrl().toString(), member())) {
            Etcd etcd = new Etcd(members, "/refused", DEADLINE);
            assertEquals(Optional.empty(), within(DEADLINE.dividedBy(4), () -> etcd.get("a")));
        }
    }

    @Test
    void shouldFailWithinTheDeadlineWhenAllAreSilent() throws IOException {
        try (ServerSocket one = silent();
                ServerSocket two = silent();
                Members members = members(url(one), url(two))) {
            Etcd etcd = new Etcd(members, "/silent", Duration.ofSeconds(1));
            StoreException failure =
                    within(Duration.ofSeconds(3), () -> assertThrows(StoreException.class, () -> etcd.get("a")));
            assertEquals(
                    "etcd, get a under /silent: no answer within 1000 ms; is a majority of its members up?",
                    failure.getMessage());
        }
    }

    @Test
    void shouldSayWhatEachMemberSaidWhenAllRefuse() {
        try (Members members =
                members(EtcdMember.freeUrl().toString(), EtcdMember.freeUrl().toString())) {
            Etcd etcd = new Etcd(members, "/refused", DEADLINE);
            StoreException failure =
                    within(DEADLINE.dividedBy(2), () -> assertThrows(StoreException.class, () -> etcd.get("a")));
            assertEquals(1, failure.getSuppressed().length);
            assertInstanceOf(StoreException.class, failure.getSuppressed()[0]);
        }
    }

    @Test
    void shouldAskOneMemberForWhatMayNotBeMadeTwice() throws IOException {
        try (ServerSocket silent = silent();
                Members members = members(url(silent), member())) {
            Etcd etcd = new Etcd(members, "/once", Duration.ofSeconds(1));
            assertThrows(StoreException.class, () -> etcd.commitOnce("put", List.of(), put(etcd, "a")));
            assertEquals(Optional.empty(), etcd.get("a"), "the other member was not asked");
        }
    }

    @Test
    void shouldEndWhenInterrupted() throws Exception {
        try (ServerSocket silent = silent();
                Members members = members(url(silent))) {
            Etcd etcd = new Etcd(members, "/interrupted", Duration.ofMinutes(5));
            CountDownLatch ended = new CountDownLatch(1);
            Thread asking = Thread.ofPlatform().start(() -> {
                assertThrows(StoreException.class, () -> etcd.get("a"));
                if (Thread.currentThread().isInterrupted()) {
                    ended.countDown();
                }
            });
            asking.interrupt();
            Deadlines.join("the end of the thread", Deadlines.SHORT, asking);
            assertEquals(0, ended.getCount());
        }
    }

    /** As by the delayed copy of a deletion that began an earlier commit. */
    @Test
    void shouldNotCallACommitDurableOfWhichAPartWasDeleted() throws InterruptedException {
        try (Members members = members(member())) {
            Etcd etcd = new Etcd(members, "/deleted", DEADLINE);
            Cmp always = new Cmp(etcd.key("never-written"), Cmp.Op.EQUAL, CmpTarget.version(0));
            Op deletion = Op.delete(
                    etcd.key("staged/"),
                    DeleteOption.builder()
                            .withRange(Etcd.prefixEnd(etcd.key("staged/")))
                            .build());
            int refused = 0;
            for (int round = 0; round < 20; round++) {
                int number = round;
                List<Change> changes = IntStream.range(0, 1_000)
                        .mapToObj(i -> new Change(Table.NODES, "n%03d".formatted(i), Optional.of("\"" + number + "\"")))
                        .toList();
                EtcdStore store = EtcdStore.open(etcd, new EtcdStore.Lead(always, () -> {}));
                Cmp unmoved = new Cmp(
                        etcd.key("mark"),
                        Cmp.Op.EQUAL,
                        etcd.get("mark")
                                .<CmpTarget<?>>map(mark -> CmpTarget.value(Etcd.bytes(mark)))
                                .orElseGet(() -> CmpTarget.version(0)));
                Thread deleting = Thread.ofPlatform().start(() -> {
                    for (int i = 0; i < 5; i++) {
                        etcd.commit("delete", List.of(unmoved), List.of(deletion));
                    }
                });
                try {
                    store.commit(changes);
                    assertEquals(
                            Set.of("\"" + number + "\""),
                            Set.copyOf(store.rows(Table.NODES).values()),
                            "each row is as it was committed");
                } catch (StoreException e) {
                    refused++;
                } finally {
                    Deadlines.join("the end of the thread", Deadlines.LONG, deleting);
                }
            }
            assertTrue(refused > 0, "no deletion came between the parts");
        }
    }
}
