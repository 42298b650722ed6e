package io.farpage.agent;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
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
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Region;
import io.farpage.coordinator.model.RegionRequest;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.rest.Json;
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
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The coordinator of a {@link Rehearsal}, on the loopback address alone: a cluster with one space, all of whose pages
 * are in the pool of one node. It obeys each request at once, checks none, and keeps nothing.
 */
final class RehearsalCoordinator implements AutoCloseable {
    private static final String PREFIX = "/api/v1/";
    private static final long ID = 1;
    private static final int PAGE = 4096;
    private static final long EVENT_NANOS = 2_000_000;
    private static final int EVENT_TRIES = 500;
    private static final int NOT_FOUND = 404;

    private final String home;
    private final Space space;
    private final HttpServer server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    /** Guarded by this, as all that follows. By id. */
    private final Map<String, Node> nodes = new TreeMap<>();
    /** By node and name. */
    private final Map<String, Region> regions = new TreeMap<>();
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

    /** What there is no answer to: the resource is not there. */
    private static final class NotFoundException extends Exception {
        private static final long serialVersionUID = 1;
    }

    /** A request: its method, the parts of its path behind the prefix, and its body. */
    private record Request(String method, List<String> path, String body) {
        static Request of(HttpExchange exchange) throws IOException {
            String path = exchange.getRequestURI().getPath();
            return new Request(
                    exchange.getRequestMethod(),
                    List.of(path.substring(Math.min(PREFIX.length(), path.length()))
                            .split("/")),
                    new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
        }

        /** The method and the kind of resource, such as {@code PUT nodes/endpoints/}: names are left out. */
        String kind() {
            String collection = path.size() > 2 ? path.getFirst() + "/" + path.get(2) : path.getFirst();
            boolean isOne = path.size() == 2 || path.size() > 3;
            return method + " " + collection + (isOne ? "/" : "");
        }

        <T> T body(Class<T> type) {
            return Json.LENIENT.readValue(body, type);
        }

        /** Of the node or space. */
        String name() {
            return path.get(1);
        }

        /** Of what belongs to that. */
        String last() {
            return path.getLast();
        }

        String key() {
            return name() + "/" + last();
        }
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            Request request = Request.of(exchange);
            try {
                Object answer = request.kind().equals("GET events") ? awaitEvents(exchange) : answer(request);
                send(exchange, 200, AgentTarget.JSON, answer);
            } catch (NotFoundException e) {
                Problem problem =
                        new Problem("about:blank", "Not Found", NOT_FOUND, "not part of a rehearsal", request.last());
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

    private EventBatch awaitEvents(HttpExchange exchange) {
        String query = exchange.getRequestURI().getQuery();
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

    private synchronized Object answer(Request request) throws NotFoundException {
        return switch (request.kind()) {
            case "GET nodes" -> List.copyOf(nodes.values());
            case "GET nodes/" -> found(nodes.get(request.name()));
            case "PUT nodes/" -> register(request.name(), request.body(Registration.class));
            case "POST nodes/heartbeat" -> new Lease(60_000, 1_000, NodeStatus.ACTIVE, events.size());
            case "GET nodes/regions" -> of(regions, request.name() + "/");
            case "GET nodes/regions/" -> found(regions.get(request.key()));
            case "PUT nodes/regions/" -> publish(request, request.body(RegionRequest.class));
            case "GET nodes/endpoints" -> of(endpoints, request.name() + "/");
            case "GET nodes/endpoints/" -> found(endpoints.get(request.key()));
            case "PUT nodes/endpoints/" -> publish(request, request.body(EndpointRequest.class));
            case "DELETE nodes/endpoints/" -> withdraw(request);
            case "GET nodes/offers" ->
                endpoints.values().stream()
                        .filter(endpoint -> endpoint.peer().equals(request.name()))
                        .toList();
            case "GET nodes/hosted" -> request.name().equals(home) ? hosted() : Hosted.NOTHING;
            case "GET nodes/attached" -> attached(request.name());
            case "PUT nodes/grants/" -> publish(request, request.body(GrantRequest.class));
            case "POST nodes/figures" -> new FiguresWanted(List.of());
            case "GET spaces" -> List.of(space);
            case "GET spaces/" -> space;
            case "GET spaces/extents" -> extents();
            case "PUT spaces/attachments/" -> attach(request.last(), request.body(AttachRequest.class));
            case "DELETE spaces/attachments/" -> detach();
            default -> List.of();
        };
    }

    private static <T> T found(@Nullable T resource) throws NotFoundException {
        if (resource == null) {
            throw new NotFoundException();
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

    private Region publish(Request request, RegionRequest said) {
        Region region = new Region(
                request.name(), request.last(), said.incarnation(), said.address(), said.length(), said.keys());
        regions.put(request.key(), region);
        happened(EventKind.REGION_PUBLISHED, request.name(), null);
        return region;
    }

    private Endpoint publish(Request request, EndpointRequest said) {
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

    private List<Endpoint> withdraw(Request request) {
        endpoints.remove(request.key());
        happened(EventKind.ENDPOINT_WITHDRAWN, request.name(), request.last());
        return List.of();
    }

    private Grant publish(Request request, GrantRequest said) {
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

    private Attachment attach(String node, AttachRequest said) {
        Attachment made = new Attachment(ID, node, said.incarnation(), said.mode(), events.size() + 1);
        attachment = made;
        grant = null;
        happened(EventKind.ATTACHMENTS_CHANGED, home, null);
        return made;
    }

    private List<Attachment> detach() {
        attachment = null;
        happened(EventKind.ATTACHMENTS_CHANGED, home, null);
        return List.of();
    }

    private SpaceExtents extents() throws NotFoundException {
        ExtentHome place = new ExtentHome(home, found(nodes.get(home)).poolId(), 0);
        Extent extent = new Extent(0, space.sizeBytes() / PAGE, List.of(place), ExtentState.OK);
        return new SpaceExtents(space, events.size(), List.of(extent));
    }

    private Hosted hosted() throws NotFoundException {
        List<HostedAttachment> attachments = Optional.ofNullable(attachment).stream()
                .map(one -> new HostedAttachment(
                        ID,
                        one.node(),
                        one.incarnation(),
                        one.id(),
                        Optional.ofNullable(grant).map(Grant::version).orElse(0L)))
                .toList();
        return new Hosted(events.size(), List.of(extents()), List.of(), attachments, List.of(), List.of());
    }

    private Attached attached(String node) throws NotFoundException {
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
