package io.farpage.agent.rehearsal;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.farpage.agent.client.AgentTarget;
import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attached;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventBatch;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.FiguresWanted;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAttachment;
import io.farpage.coordinator.model.Lease;
import io.farpage.coordinator.model.NewAttachment;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.operation.ClusterOperations;
import io.farpage.coordinator.model.operation.NodeOperations;
import io.farpage.coordinator.model.operation.SpaceOperations;
import io.farpage.rest.Json;
import io.farpage.rest.Operation;
import io.farpage.rest.Problem;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The coordinator of a {@link Rehearsal}, on the loopback address alone: a cluster with one space. All its pages are in
 * the pool of one node. It obeys each request at once, checks none, and keeps nothing.
 */
final class RehearsalCoordinator implements AutoCloseable {
    private static final long ID = 1;
    private static final int PAGE = 4096;
    private static final long EVENT_NANOS = 2_000_000;
    private static final int EVENT_TRIES = 500;
    private static final int NOT_FOUND = 404;

    private final String home;
    private final Space space;
    private final HttpServer server;
    private final List<Binding<?, ?>> bindings = bindings();
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    /** Guarded by this, as all that follows. By id. */
    private final Map<String, Node> nodes = new TreeMap<>();
    /** By node and peer. */
    private final Map<String, Endpoint> endpoints = new TreeMap<>();

    private final List<Event> events = new ArrayList<>();
    private @Nullable Attachment attachment;
    private @Nullable Grant grant;

    /** @param home the node whose pool has the pages of the space {@code name} */
    RehearsalCoordinator(String home, String name, int pages) throws IOException {
        this.home = home;
        space = new Space(ID, name, (long) pages * PAGE, PAGE, ExtentState.OK, Instant.now(), false);
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", this::handle);
        server.start();
    }

    URI url() {
        InetSocketAddress at = server.getAddress();
        return URI.create("http://%s:%d".formatted(at.getAddress().getHostAddress(), at.getPort()));
    }

    /** A request for an operation. */
    private record Request<B>(Operation<B, ?> operation, URI target, String content) {
        B body() {
            return Json.LENIENT.readValue(content, operation.body().orElseThrow());
        }

        /** The name of the node or space: the path element after the prefix and the kind of resource. */
        String name() {
            return target.getPath().split("/")[4];
        }

        /** The last path element: the name of a resource of that node or space. */
        String last() {
            return target.getPath().substring(target.getPath().lastIndexOf('/') + 1);
        }

        String key() {
            return name() + "/" + last();
        }
    }

    /** An operation and its answer; null if the answer has no content. */
    private record Binding<B, A>(Operation<B, A> operation, Function<Request<B>, @Nullable A> answer) {
        boolean isFor(HttpExchange exchange) {
            String path = operation.path().replaceAll("\\{\\w+}", "[^/]+");
            return operation.method().name().equals(exchange.getRequestMethod())
                    && exchange.getRequestURI().getPath().matches(path);
        }

        @Nullable
        A answer(HttpExchange exchange) throws IOException {
            String content = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            return answer.apply(new Request<>(operation, exchange.getRequestURI(), content));
        }
    }

    private List<Binding<?, ?>> bindings() {
        return List.of(
                new Binding<>(ClusterOperations.EVENTS, this::awaitEvents),
                bind(NodeOperations.LIST, _ -> List.copyOf(nodes.values())),
                bind(NodeOperations.SHOW, request -> found(nodes.get(request.name()))),
                bind(NodeOperations.REGISTER, request -> register(request.name(), request.body())),
                bind(NodeOperations.HEARTBEAT, _ -> new Lease(60_000, 1_000, NodeStatus.ACTIVE, events.size())),
                bind(NodeOperations.ENDPOINTS, request -> of(endpoints, request.name() + "/")),
                bind(NodeOperations.SHOW_ENDPOINT, request -> found(endpoints.get(request.key()))),
                bind(NodeOperations.PUBLISH_ENDPOINT, this::publishEndpoint),
                bind(NodeOperations.WITHDRAW_ENDPOINT, this::withdraw),
                bind(
                        NodeOperations.OFFERS,
                        request -> endpoints.values().stream()
                                .filter(endpoint -> endpoint.peer().equals(request.name()))
                                .toList()),
                bind(NodeOperations.HOSTED, request -> request.name().equals(home) ? hosted() : Hosted.NOTHING),
                bind(NodeOperations.ATTACHED, request -> attached(request.name())),
                bind(NodeOperations.PUBLISH_GRANT, this::publishGrant),
                bind(NodeOperations.FIGURES, _ -> new FiguresWanted(List.of(), false)),
                bind(SpaceOperations.LIST, _ -> List.of(space)),
                bind(SpaceOperations.SHOW, _ -> space),
                bind(SpaceOperations.EXTENTS, _ -> extents()),
                bind(SpaceOperations.ATTACH, request -> attach(request.last(), request.body())),
                bind(SpaceOperations.DETACH, this::detach));
    }

    private <B, A> Binding<B, A> bind(Operation<B, A> operation, Function<Request<B>, @Nullable A> answer) {
        return new Binding<>(operation, request -> {
            synchronized (this) {
                return answer.apply(request);
            }
        });
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            // Other operations change nothing that a rehearsal looks at.
            Optional<Binding<?, ?>> binding =
                    bindings.stream().filter(one -> one.isFor(exchange)).findFirst();
            try {
                Object answer = binding.isPresent() ? binding.get().answer(exchange) : null;
                send(exchange, 200, AgentTarget.JSON, answer == null ? List.of() : answer);
            } catch (NoSuchElementException e) {
                String path = exchange.getRequestURI().getPath();
                Problem problem = new Problem("about:blank", "Not Found", NOT_FOUND, "not part of a rehearsal", path);
                send(exchange, NOT_FOUND, Problem.MEDIA_TYPE, problem);
            }
        }
    }

    private static void send(HttpExchange exchange, int status, String type, Object answer) throws IOException {
        byte[] text = Json.STRICT.writeValueAsBytes(answer);
        exchange.getResponseHeaders().add("Content-Type", type);
        exchange.sendResponseHeaders(status, text.length);
        exchange.getResponseBody().write(text);
    }

    private EventBatch awaitEvents(Request<Void> request) {
        String query = request.target().getQuery();
        int index = Integer.parseInt(query.replaceFirst("^.*\\bindex=(\\d+).*$", "$1"));
        boolean waits = !query.contains("wait=0ms");
        for (int tries = 0; waits && tries < EVENT_TRIES && count() <= index; tries++) {
            LockSupport.parkNanos(EVENT_NANOS);
        }
        synchronized (this) {
            return new EventBatch(events.size(), false, events.subList(Math.min(index, events.size()), events.size()));
        }
    }

    private synchronized int count() {
        return events.size();
    }

    private static <T> T found(@Nullable T resource) {
        if (resource == null) {
            throw new NoSuchElementException();
        }
        return resource;
    }

    private static <T> List<T> of(Map<String, T> resources, String prefix) {
        return resources.entrySet().stream()
                .filter(entry -> entry.getKey().startsWith(prefix))
                .map(Map.Entry::getValue)
                .toList();
    }

    private void happened(EventKind kind, String node, @Nullable String peer) {
        events.add(new Event(
                events.size() + 1L,
                kind,
                Optional.of(node),
                Optional.ofNullable(peer),
                Optional.of(space.name()),
                OptionalLong.of(ID)));
    }

    private Node register(String id, Registration said) {
        Node node = Node.of(id, said, Instant.now());
        nodes.put(id, node);
        happened(EventKind.NODE_REGISTERED, id, null);
        return node;
    }

    private Endpoint publishEndpoint(Request<EndpointRequest> request) {
        EndpointRequest said = request.body();
        Endpoint endpoint = new Endpoint(
                request.name(),
                request.last(),
                said.incarnation(),
                said.peerIncarnation(),
                said.attempt(),
                said.answers(),
                said.entries(),
                said.trial(),
                events.size() + 1L);
        endpoints.put(request.key(), endpoint);
        happened(EventKind.ENDPOINT_PUBLISHED, request.name(), request.last());
        return endpoint;
    }

    private @Nullable Void withdraw(Request<Void> request) {
        endpoints.remove(request.key());
        happened(EventKind.ENDPOINT_WITHDRAWN, request.name(), request.last());
        return null;
    }

    private Grant publishGrant(Request<GrantRequest> request) {
        GrantRequest said = request.body();
        Grant given = new Grant(
                ID,
                request.name(),
                said.homeIncarnation(),
                request.last(),
                said.incarnation(),
                said.attachment(),
                Optional.empty(),
                said.version(),
                said.sealed());
        grant = given;
        happened(EventKind.GRANT_PUBLISHED, request.name(), request.last());
        return given;
    }

    private NewAttachment attach(String node, AttachRequest said) {
        Attachment made = new Attachment(ID, node, said.incarnation(), said.mode(), events.size() + 1);
        attachment = made;
        grant = null;
        happened(EventKind.ATTACHMENTS_CHANGED, home, null);
        return NewAttachment.of(made, Optional.of(extents()));
    }

    private @Nullable Void detach(Request<Void> request) {
        attachment = null;
        happened(EventKind.ATTACHMENTS_CHANGED, home, null);
        return null;
    }

    private SpaceExtents extents() {
        ExtentHome place = new ExtentHome(home, found(nodes.get(home)).poolId(), 0);
        Extent extent = new Extent(0, space.sizeBytes() / PAGE, List.of(place), ExtentState.OK);
        return new SpaceExtents(space, events.size(), List.of(extent));
    }

    private Hosted hosted() {
        List<HostedAttachment> attachments = Optional.ofNullable(attachment).stream()
                .map(one -> HostedAttachment.of(
                        one, Optional.ofNullable(grant).map(Grant::version).orElse(0L)))
                .toList();
        return new Hosted(events.size(), List.of(extents()), List.of(), attachments, List.of(), List.of());
    }

    private Attached attached(String node) {
        Optional<Attachment> own =
                Optional.ofNullable(attachment).filter(one -> one.node().equals(node));
        if (own.isEmpty()) {
            return Attached.NOTHING;
        }
        return new Attached(
                events.size(),
                1,
                List.of(new Attached.Held(own.get(), false, Optional.of(extents()))),
                List.of(),
                Optional.ofNullable(grant).stream().toList(),
                List.of(found(nodes.get(home))));
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
