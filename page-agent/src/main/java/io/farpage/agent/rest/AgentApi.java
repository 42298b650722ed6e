package io.farpage.agent.rest;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.device.Transports;
import io.farpage.agent.control.link.LinkControl;
import io.farpage.agent.control.page.PageException;
import io.farpage.agent.control.page.PageTool;
import io.farpage.agent.control.space.SpaceInUseException;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.rest.ProblemException;
import io.farpage.rest.Requests;
import io.farpage.rest.Route;
import io.farpage.verbs.PortAttributes;
import io.farpage.verbs.VerbsException;
import io.javalin.http.Context;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;

/** The routes of the agent's REST API. */
public final class AgentApi {
    /** Header of a page of a torn space: why it is torn. */
    public static final String TORN = "Farpage-Torn";

    private final Transports transports;
    private final LinkControl links;
    private final Spaces spaces;
    private final PageTool pages;

    public AgentApi(Transports transports, LinkControl links, Spaces spaces, PageTool pages) {
        this.transports = transports;
        this.links = links;
        this.spaces = spaces;
        this.pages = pages;
    }

    /** All of them. */
    public List<Route> routes() {
        return List.of(
                Route.answering(AgentOperations.TRANSPORTS, ctx -> transportStatus()),
                Route.answering(AgentOperations.LIST_LINKS, ctx -> links.status()),
                new Route(AgentOperations.START_LINK, ctx -> connect(ctx.pathParam("peer"))),
                new Route(PageOperations.READ, this::get),
                new Route(PageOperations.WRITE, this::put),
                new Route(PageOperations.DISCARD, this::delete));
    }

    private void connect(String peer) {
        if (!links.connect(peer)) {
            throw ProblemException.notFound("no other node '" + peer + "' is known; /api/v1/links lists the peers");
        }
    }

    private TransportStatus transportStatus() {
        return new TransportStatus(
                transports.mode().name().toLowerCase(Locale.ROOT),
                transports.preferred().toString(),
                transports.describe(),
                transports.findings(),
                transports.devices().stream().map(AgentApi::port).toList(),
                links.status());
    }

    private static TransportStatus.OpenPort port(OpenDevice open) {
        String name = open.device().name();
        String transport = open.transport().toString();
        try {
            PortAttributes port = open.device().queryPort();
            return new TransportStatus.OpenPort(
                    name,
                    transport,
                    open.rail(),
                    port.number(),
                    port.state().toString(),
                    port.linkLayer().toString(),
                    port.activeMtu().bytes(),
                    port.gid().toString());
        } catch (VerbsException e) {
            return new TransportStatus.OpenPort(name, transport, open.rail(), 0, e.toString(), "", 0, "");
        }
    }

    private void get(Context ctx) throws InterruptedException {
        long page = pageNumber(ctx);
        try {
            SpaceUse use = space(spaces, ctx);
            use.torn().ifPresent(torn -> ctx.header(TORN, torn.reason().replaceAll("[^ -~]", "?")));
            ctx.result(pages.get(use, page)).contentType(PageOperations.BYTES);
        } catch (PageException e) {
            throw problem(e);
        } catch (IndexOutOfBoundsException e) {
            throw ProblemException.notFound(String.valueOf(e.getMessage()));
        }
    }

    private void put(Context ctx) throws Exception {
        // The body is read only if the space and the page exist.
        Requests.bytes(ctx, pageSize(ctx, pageNumber(ctx)), data -> write(ctx, space -> data));
    }

    private int pageSize(Context ctx, long page) {
        try (SpaceUse use = space(spaces, ctx)) {
            SpaceMap map = use.map();
            map.requirePage(page);
            return map.pageSize();
        } catch (IndexOutOfBoundsException e) {
            throw ProblemException.notFound(String.valueOf(e.getMessage()));
        }
    }

    private void delete(Context ctx) throws InterruptedException {
        write(ctx, space -> new byte[space.pageSize()]);
    }

    private void write(Context ctx, Function<SpaceMap, byte[]> data) throws InterruptedException {
        long page = pageNumber(ctx);
        SpaceUse space = space(spaces, ctx);
        try {
            pages.put(space, page, data.apply(space.map()));
        } catch (CoordinatorRefusedException e) {
            throw refused(e);
        } catch (CoordinatorException e) {
            throw new ProblemException(
                    503,
                    "coordinator-away",
                    "the coordinator does not know yet that this node writes: " + e.getMessage());
        } catch (PageException e) {
            throw problem(e);
        } catch (IndexOutOfBoundsException e) {
            throw ProblemException.notFound(String.valueOf(e.getMessage()));
        } catch (IllegalArgumentException e) {
            throw ProblemException.invalid(String.valueOf(e.getMessage()));
        }
    }

    /** Begins to use a space. */
    interface Opening {
        /** Empty if there is no such space. */
        Optional<SpaceUse> open(String nameOrId) throws CoordinatorException;
    }

    /** The space that a request names, in use. */
    static SpaceUse space(Spaces spaces, Context ctx) {
        return use(ctx, spaces::use);
    }

    /** As {@link #space}, in the way that is given. */
    static SpaceUse use(Context ctx, Opening how) {
        String name = ctx.pathParam("space");
        try {
            return how.open(name).orElseThrow(() -> ProblemException.notFound("there is no space '" + name + "'"));
        } catch (SpaceInUseException e) {
            throw ProblemException.conflict("in-use", String.valueOf(e.getMessage()));
        } catch (CoordinatorRefusedException e) {
            throw refused(e);
        } catch (CoordinatorException e) {
            throw new ProblemException(
                    503, "coordinator-away", "the homes of space '" + name + "' are not known yet: " + e.getMessage());
        }
    }

    /** A refusal of the coordinator, with its message. */
    static ProblemException refused(CoordinatorRefusedException e) {
        return new ProblemException(
                e.problem().status(), e.problem().word(), e.problem().detail());
    }

    private static long pageNumber(Context ctx) {
        String text = ctx.pathParam("page");
        try {
            long page = text.startsWith("0x") ? Long.parseUnsignedLong(text.substring(2), 16) : Long.parseLong(text);
            if (page >= 0) {
                return page;
            }
        } catch (NumberFormatException e) {
            // reported below
        }
        throw ProblemException.invalid("page '" + text + "' is not a number from 0, decimal or 0x…");
    }

    private static ProblemException problem(PageException e) {
        String message = String.valueOf(e.getMessage());
        return switch (e.status()) {
            case DEADLINE, UNREACHABLE -> new ProblemException(504, "home-unreachable", message);
            case PAGE_LOST -> new ProblemException(410, "page-lost", message);
            case REFUSED -> new ProblemException(502, "home-refused", message);
            case CLOSED -> new ProblemException(503, "shutting-down", message);
            case PENDING, OK -> throw new AssertionError(e.status());
        };
    }
}
