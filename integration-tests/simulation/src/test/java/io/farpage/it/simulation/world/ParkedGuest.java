package io.farpage.it.simulation.world;

import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.Node;
import io.farpage.it.simulation.guest.Guest;
import io.farpage.it.simulation.guest.Guest.Activity;
import java.util.OptionalInt;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One run of a guest on one host, while it is parked and unparked there; and what must hold meanwhile. */
final class ParkedGuest {
    private static final long SECOND = 1_000_000_000L;
    private static final long POLL_NANOS = SECOND / 20;
    private static final Pattern KEEPS = Pattern.compile("\"parked\":\\{\"keepPages\":(\\d+)");
    private static final int LEAST_PAGES = 64;
    private static final int LEAST_LARGE_PAGES = 16;

    private final Scenario scenario;
    private final Engine engine;
    private final Faults faults;
    private final Guest guest;
    private final String host;
    private final int run;
    private boolean hasUnanswered;

    ParkedGuest(Scenario scenario, Engine engine, Faults faults, Guest guest) {
        this.scenario = scenario;
        this.engine = engine;
        this.faults = faults;
        this.guest = guest;
        host = guest.host();
        run = guest.runs();
    }

    /** Whether the guest is about to leave the host, or its threads end. */
    boolean isOver() {
        return guest.runs() != run
                || !guest.isRunning()
                || !guest.host().equals(host)
                || !scenario.served().contains(guest);
    }

    /** Whether a request had no answer, and may be executed later. */
    boolean hasUnanswered() {
        return hasUnanswered;
    }

    /** What an agent says of the guest; neither while it is not served. */
    private boolean is(boolean parked) {
        String status = scenario.operator().status(host, guest.space());
        return status.contains("\"state\":\"attached\"")
                && KEEPS.matcher(status).find() == parked;
    }

    boolean isParked() {
        return is(true);
    }

    boolean isUnparked() {
        return is(false);
    }

    /** The pages that may stay resident; empty if the guest is not parked, or that is not known. */
    private OptionalInt keeps() {
        Matcher keeps = KEEPS.matcher(scenario.operator().status(host, guest.space()));
        return keeps.find() ? OptionalInt.of(Integer.parseInt(keeps.group(1))) : OptionalInt.empty();
    }

    /** The fewest pages that stay. */
    int least() {
        return guest.shape().slices() * (guest.shape().isLarge() ? LEAST_LARGE_PAGES : LEAST_PAGES);
    }

    /**
     * Requests that the guest is parked.
     *
     * @param keep pages that stay
     * @param deadlineMillis how long the answer may wait for the others to leave
     */
    boolean park(int keep, int deadlineMillis) {
        String answer = request(
                "park",
                "\"keepBytes\":%d,\"deadlineMillis\":%d"
                        .formatted((long) keep * guest.shape().pageBytes(), deadlineMillis));
        return isDone(answer, "guest parked");
    }

    /** Requests that the guest is unparked, with another limit if {@code pages} is not 0. */
    boolean unpark(int pages) {
        String fields = pages == 0
                ? ""
                : "\"localBytes\":%d".formatted((long) pages * guest.shape().pageBytes());
        return isDone(request("unpark", fields), "guest unparked");
    }

    private String request(String what, String fields) {
        String answer = scenario.operator().post(host, guest.space(), what, fields);
        hasUnanswered |= !Character.isDigit(answer.charAt(0)) || answer.charAt(0) == '5';
        return answer;
    }

    private boolean isDone(String answer, String what) {
        boolean isDone = answer.startsWith("200");
        if (isDone) {
            note(what, "%s on %s, %d pages resident".formatted(guest.space(), host, guest.resident()));
        }
        return isDone;
    }

    private void note(String what, String where) {
        engine.trail().count(what);
        engine.trail().note(engine.elapsed(), what + ": " + where);
    }

    /** Makes the threads rest; false if the guest leaves before they do. */
    boolean rest() {
        guest.be(Activity.REST);
        while (!isOver() && !guest.isResting()) {
            engine.pause(POLL_NANOS);
        }
        return !isOver();
    }

    /**
     * Watches the guest, which rests: no fault wakes it, so each successor of its agent leaves it as it is.
     *
     * @param isParked whether it is parked
     * @param bound within which its memory leaves then while nothing fails
     */
    void watch(boolean isParked, long nanos, long bound) {
        Node agent = scenario.agent(host);
        long end = engine.now() + nanos;
        long calmSince = engine.now();
        while (!isOver() && engine.now() < end) {
            boolean isOther = is(!isParked);
            if (isOver()) {
                return;
            }
            if (isOther) {
                engine.fail("guest %s on %s was %s, rests, and is not any longer"
                        .formatted(guest.space(), host, isParked ? "parked" : "unparked"));
            }
            Node now = scenario.agent(host);
            if (now != agent && is(isParked) && !isOver()) {
                String what = isParked ? "parked guest adopted" : "unparked guest adopted";
                note(what, "%s on %s".formatted(guest.space(), host));
                agent = now;
            }
            OptionalInt keeps = isParked ? keeps() : OptionalInt.empty();
            calmSince = faults.areAway() ? calmSince : engine.now();
            if (engine.now() - calmSince > bound && keeps.isPresent() && !isOver()) {
                requireAway(keeps.getAsInt());
            }
            engine.pause(POLL_NANOS);
        }
    }

    private void requireAway(int keeps) {
        if (guest.resident() > keeps) {
            engine.fail("guest %s on %s is parked, and %d pages are resident instead of %d"
                    .formatted(guest.space(), host, guest.resident(), keeps));
        }
    }

    /** Waits until the memory of the guest, which is parked and rests, has left; a failure after a bound in seconds. */
    void awaitAway(int bound) {
        scenario.await("the memory of parked guest %s leaves".formatted(guest.space()), bound, () -> {
            OptionalInt keeps = keeps();
            return keeps.isPresent() && guest.resident() <= keeps.getAsInt();
        });
    }

    /**
     * Makes the guest touch page after page, until it is no longer parked. Does nothing if most of its pages may stay,
     * so that it would take few faults.
     *
     * @param bound nanoseconds that this may take while nothing fails
     */
    void wake(long bound) {
        OptionalInt keeps = keeps();
        if (keeps.isEmpty() || 4 * keeps.getAsInt() > 3 * guest.shape().pages()) {
            return;
        }
        guest.be(Activity.RUSH);
        if (awaitCalmly(this::isUnparked, bound, "faults again and again, and stays parked")) {
            note("guest woken by its faults", "%s on %s".formatted(guest.space(), host));
        }
    }

    /**
     * Waits until the guest, which rests, is parked by its agent.
     *
     * @param bound nanoseconds that this may take while nothing fails
     */
    boolean awaitParked(long bound) {
        boolean isParked = awaitCalmly(this::isParked, bound, "rests, and is not parked by its agent");
        if (isParked) {
            note("idle guest parked", "%s on %s".formatted(guest.space(), host));
        }
        return isParked;
    }

    /** Waits, and no longer than a little if something fails. False if it does not hold, or the guest leaves. */
    private boolean awaitCalmly(BooleanSupplier holds, long bound, String otherwise) {
        long end = engine.now() + bound + bound / 4;
        long calmSince = engine.now();
        while (!isOver() && engine.now() < end) {
            if (holds.getAsBoolean()) {
                return !isOver();
            }
            calmSince = faults.areAway() ? calmSince : engine.now();
            if (engine.now() - calmSince > bound && !isOver()) {
                engine.fail("guest %s on %s %s".formatted(guest.space(), host, otherwise));
            }
            engine.pause(POLL_NANOS);
        }
        return false;
    }
}
