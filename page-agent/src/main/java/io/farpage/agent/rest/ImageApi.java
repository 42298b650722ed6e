package io.farpage.agent.rest;

import io.farpage.agent.control.page.PageException;
import io.farpage.agent.control.page.SpaceImage;
import io.farpage.agent.control.space.Claim;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.control.space.Spaces;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.Torn;
import io.farpage.rest.ProblemException;
import io.farpage.rest.Requests;
import io.farpage.rest.Route;
import io.javalin.http.Context;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The routes for the whole memory of a space. */
public final class ImageApi {
    /** How long an answer waits for the space to be detached, if the coordinator is slow. */
    private static final int DETACH_SECONDS = 5;

    private final Spaces spaces;
    private final SpaceImage image;
    private final ImagePermits permits;

    public ImageApi(Spaces spaces, SpaceImage image, ImagePermits permits) {
        this.spaces = spaces;
        this.image = image;
        this.permits = permits;
    }

    /** All of them. */
    public List<Route> routes() {
        return List.of(
                new Route(PageOperations.SAVE, ctx -> permits.run(() -> save(ctx))),
                new Route(PageOperations.LOAD, ctx -> permits.run(() -> load(ctx))));
    }

    private void save(Context ctx) throws IOException, InterruptedException {
        boolean force =
                Requests.optionalQuery(ctx, "force").filter("true"::equals).isPresent();
        SpaceUse use = AgentApi.space(spaces, ctx);
        if (!force && use.torn().isPresent()) {
            use.close();
            Torn torn = use.torn().get();
            throw ProblemException.conflict(
                    "space-torn",
                    "space '%s' holds older and newer pages since %s: %s; set force=true (--force) to save it as it is"
                            .formatted(use.map().name(), torn.at(), torn.reason()));
        }
        ctx.contentType(PageOperations.BYTES);
        ctx.header("Content-Length", Long.toString(use.space().contentBytes()));
        try {
            image.save(use, ctx.res().getOutputStream());
        } catch (PageException e) {
            // The header gives the length, so a client recognises an answer that ends early.
            throw new IOException(e.getMessage(), e);
        }
    }

    /** That the space is torn does not matter: all of its pages are replaced. */
    private Optional<SpaceUse> exclusively(String name) throws CoordinatorException {
        Optional<Space> space = spaces.find(name);
        if (space.flatMap(Space::encryption).isPresent()) {
            throw ProblemException.conflict(
                    "encrypted",
                    "space '%s' is encrypted: its pages can be written only through the guest that has it for memory"
                            .formatted(name));
        }
        if (space.filter(one -> one.base().isPresent()).isPresent()) {
            throw ProblemException.conflict(
                    "clone",
                    "space '%s' is a clone, which begins with the pages of its snapshot; load the image into a space of"
                                    .formatted(name)
                            + " its own, and make a snapshot of that: coordinator space snapshot NAME");
        }
        return space.isPresent() ? spaces.useExclusively(space.get().id(), new Claim(true, false)) : Optional.empty();
    }

    private void load(Context ctx) throws InterruptedException {
        try {
            long length = ctx.req().getContentLengthLong();
            SpaceUse use = AgentApi.use(ctx, this::exclusively);
            CountDownLatch detached = new CountDownLatch(1);
            use.whenDetached(detached::countDown);
            image.load(use, Requests.stream(ctx), length < 0 ? OptionalLong.empty() : OptionalLong.of(length));
            // The next command may need the space unattached, as that for a snapshot does.
            var _ = detached.await(DETACH_SECONDS, TimeUnit.SECONDS);
        } catch (PageException e) {
            throw new ProblemException(502, "home-unreachable", String.valueOf(e.getMessage()));
        } catch (IOException e) {
            throw ProblemException.invalid(String.valueOf(e.getMessage()));
        }
    }
}
