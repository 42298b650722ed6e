package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.rest.ProblemException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What homes grant is handed on as long as attachment and incarnations last. */
class GrantsTest {
    private static final Incarnation HOME = new Incarnation(1);
    private static final Incarnation A = new Incarnation(2);

    private final Fixture with = new Fixture();
    private final Attachments attachments = new Attachments(with.ledger, with.time);
    private final Grants grants = new Grants(with.ledger);
    private final Hosting hosting = new Hosting(with.ledger, grants);
    private long vm;
    private long version;

    @BeforeEach
    void attach() {
        with.membership.register("home", Fixture.node(1, 8192));
        with.membership.register("a", Fixture.node(2, 0));
        with.membership.register("b", Fixture.node(3, 0));
        vm = with.spaces.create(SpaceRequest.of("vm", 8192)).id();
        attachments.attach("vm", "a", new AttachRequest(A, AttachMode.SHARED));
    }

    /** For the attachment of the node, if it has one. */
    private GrantRequest sealed(String text) {
        return sealed(HOME, text);
    }

    private GrantRequest sealed(Incarnation home, String text) {
        long attachment = attachments.of("vm").stream()
                .mapToLong(Attachment::id)
                .findFirst()
                .orElse(0);
        return new GrantRequest(home, A, attachment, ++version, text);
    }

    private List<String> granted() {
        return new Attaching(with.ledger, grants)
                .of("a", 0).grants().stream().map(Grant::sealed).toList();
    }

    private void requireGone() {
        assertEquals(List.of(), granted());
        assertEquals(Optional.empty(), grants.find(new Draft(with.ledger.state()), "home", vm, "a", Optional.empty()));
    }

    private List<Event> events(EventKind kind) throws InterruptedException {
        return with.ledger.events().after(0, Duration.ZERO, EventFilter.ALL).events().stream()
                .filter(event -> event.kind() == kind)
                .toList();
    }

    @Test
    void shouldCommitNothingForMostGrants() {
        int before = with.store.begun();
        for (int i = 0; i < 100; i++) {
            grants.publish("home", vm, "a", sealed("grant " + i));
        }
        assertEquals(before + 1, with.store.begun(), "the indexes of their events are reserved together");
    }

    @Test
    void shouldTellWhatANodeHostsWhileTheStoreWrites() throws Exception {
        long revision = hosting.of("home").revision();
        CountDownLatch written = new CountDownLatch(1);
        with.store.await(written);
        int begun = with.store.begun();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<?> change = threads.submit(() -> with.membership.register("c", Fixture.node(4, 0)));
            Deadlines.await("a commit is under way", Deadlines.SHORT).until(() -> with.store.begun() == begun + 1);
            try {
                Hosted hosted =
                        Deadlines.get("what it hosts", Deadlines.SHORT, threads.submit(() -> hosting.of("home")));
                assertEquals(revision, hosted.revision());
                assertEquals(1, hosted.spaces().size());
            } finally {
                written.countDown();
            }
            Deadlines.get("the change", Deadlines.SHORT, change);
        }
        assertTrue(hosting.of("home").revision() > revision);
    }

    @Test
    void shouldTellTheAttachedNodeOnceOfEachGrant() throws Exception {
        assertEquals(0, hosting.of("home").attachments().getFirst().granted());
        GrantRequest one = sealed("one");
        grants.publish("home", vm, "a", one);
        grants.publish("home", vm, "a", one);
        assertEquals(List.of("one"), granted());
        assertEquals(1, hosting.of("home").attachments().getFirst().granted());
        grants.publish("home", vm, "a", sealed("two"));
        assertEquals(List.of("two"), granted());
        List<Event> told = events(EventKind.GRANT_PUBLISHED);
        assertEquals(2, told.size());
        assertEquals(Optional.of("home"), told.getFirst().node());
        assertEquals(Optional.of("a"), told.getFirst().peer());
        assertEquals(vm, told.getFirst().spaceId().orElseThrow());
    }

    @Test
    void shouldRefuseGrantsOfNodesThatAreNotHomesOrForUnattachedNodes() {
        ProblemException notHome = assertThrows(
                ProblemException.class, () -> grants.publish("b", vm, "a", sealed(new Incarnation(3), "x")));
        assertTrue(notHome.problem("").is("not-home"), notHome::getMessage);
        ProblemException notAttached = assertThrows(
                ProblemException.class,
                () -> grants.publish("home", vm, "b", new GrantRequest(HOME, new Incarnation(3), 0, 1, "x")));
        assertTrue(notAttached.problem("").is("not-attached"), notAttached::getMessage);
        assertThrows(ProblemException.class, () -> grants.publish("home", vm, "a", sealed(new Incarnation(9), "x")));
        assertThrows(
                ProblemException.class,
                () -> grants.publish(
                        "home",
                        vm,
                        "a",
                        new GrantRequest(HOME, new Incarnation(9), sealed("x").attachment(), 1, "x")));
        assertThrows(ProblemException.class, () -> grants.publish("home", vm + 1, "a", sealed("x")));
        requireGone();
    }

    @Test
    void shouldDropAGrantWithTheAttachment() throws Exception {
        grants.publish("home", vm, "a", sealed("one"));
        attachments.detach("vm", "a", A, Detachment.PLAIN);
        requireGone();
        assertEquals(2, events(EventKind.ATTACHMENTS_CHANGED).size());
        assertEquals(
                Optional.of("home"),
                events(EventKind.ATTACHMENTS_CHANGED).getLast().node());
        attachments.attach("vm", "a", new AttachRequest(A, AttachMode.SHARED));
        grants.publish("home", vm, "a", sealed("two"));
        assertEquals(List.of("two"), granted());
    }

    @Test
    void shouldNotHandOnTheGrantOfAnEarlierAttachment() {
        grants.publish("home", vm, "a", sealed("one"));
        attachments.detach("vm", "a", A, Detachment.PLAIN);
        attachments.attach("vm", "a", new AttachRequest(A, AttachMode.SHARED));
        requireGone();
        assertEquals(0, hosting.of("home").attachments().getFirst().granted());
    }

    /** The home has made the keys before it learned that the node had detached, and has revoked them by now. */
    @Test
    void shouldRefuseTheGrantOfAnEarlierAttachmentThatArrivesLate() {
        GrantRequest late = sealed("one");
        attachments.detach("vm", "a", A, Detachment.PLAIN);
        attachments.attach("vm", "a", new AttachRequest(A, AttachMode.SHARED));
        ProblemException refused = assertThrows(ProblemException.class, () -> grants.publish("home", vm, "a", late));
        assertTrue(refused.problem("").is("not-attached"), refused::getMessage);
        requireGone();
    }

    /** Its sender has given it up, and has published another one since. */
    @Test
    void shouldKeepTheLatestGrantWhenAnEarlierOneArrivesLate() throws Exception {
        GrantRequest late = sealed("one");
        grants.publish("home", vm, "a", sealed("two"));
        grants.publish("home", vm, "a", late);
        assertEquals(List.of("two"), granted());
        assertEquals(2, hosting.of("home").attachments().getFirst().granted());
        assertEquals(1, events(EventKind.GRANT_PUBLISHED).size());
    }

    @Test
    void shouldKeepAGrantWhenTheNodeConfirmsItsAttachment() {
        grants.publish("home", vm, "a", sealed("one"));
        attachments.attach("vm", "a", new AttachRequest(A, AttachMode.SHARED));
        attachments.attach("vm", "a", new AttachRequest(A, AttachMode.EXCLUSIVE));
        assertEquals(List.of("one"), granted());
    }

    @Test
    void shouldDropAGrantWithEitherIncarnation() {
        grants.publish("home", vm, "a", sealed("one"));
        with.membership.register("a", Fixture.node(20, 0));
        requireGone();
        with.fenced("home", HOME, "a", A);
        attachments.attach("vm", "a", new AttachRequest(new Incarnation(20), AttachMode.SHARED));
        requireGone();
        grants.publish(
                "home",
                vm,
                "a",
                new GrantRequest(HOME, new Incarnation(20), sealed("two").attachment(), 1, "two"));
        with.membership.register("home", Fixture.node(10, 8192));
        requireGone();
    }

    @Test
    void shouldEndTheWaitForADetachmentWhenTheHomeHasAcknowledgedIt() throws Exception {
        hosting.acknowledge("home", new HostedAck(HOME, hosting.of("home").revision(), List.of(), List.of()));
        attachments.detach("vm", "a", A, Detachment.PLAIN);
        Thread waiting = Thread.ofVirtual().start(() -> {
            try {
                hosting.awaitAcknowledged(Set.of("home", "b"));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        assertFalse(waiting.join(Duration.ofMillis(300)), "the home has not revoked the access");
        hosting.acknowledge("home", new HostedAck(HOME, hosting.of("home").revision(), List.of(), List.of()));
        Deadlines.join("the end of the thread", Duration.ofSeconds(1), waiting);
    }

    @Test
    void shouldWaitForASilentHomeOnce() throws Exception {
        Duration longest = Duration.ofMillis(500);
        Hosting impatient = new Hosting(with.ledger, grants, longest);
        impatient.acknowledge("home", new HostedAck(HOME, impatient.of("home").revision(), List.of(), List.of()));
        attachments.detach("vm", "a", A, Detachment.PLAIN);
        long began = System.nanoTime();
        impatient.awaitAcknowledged(Set.of("home"));
        assertTrue(System.nanoTime() - began >= longest.toNanos(), "a home may be slow");
        for (int i = 0; i < 10; i++) {
            Deadlines.Wait wait = Deadlines.begin("a request after that", longest.dividedBy(2));
            impatient.awaitAcknowledged(Set.of("home"));
            wait.check();
        }
    }
}
