package io.farpage.agent.data.coherence;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.agent.data.coherence.CoherentWorld.Event;
import io.farpage.agent.data.coherence.CoherentWorld.Node;
import io.farpage.agent.data.coherence.CoherentWorld.Setup;
import io.farpage.agent.data.coherence.CoherentWorld.SimulatedHome;
import io.farpage.agent.data.coherence.SimulatedProcess.Worker;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Goes through all orders in which messages arrive, threads load and store, and failures happen. Each thread has a
 * program of a few loads and stores. An agent handles what it has got at once, and what it sends is under way then.
 * States that were reached before in another order are not continued again. In the beginning the homes know their
 * members.
 */
final class AllSchedules {
    /** No hold time of a page lasts so long. */
    private static final long MOVE_NANOS = 10_000_000;

    private static final Pattern SESSION = Pattern.compile("session (\\d+)");

    private final Setup setup;
    private final List<String> programs;
    private final Map<Event, Integer> budget;
    private final Set<String> seen = new HashSet<>();
    private int depth;
    private boolean isComplete;

    /**
     * @param programs of the only thread of each member, as "w0 r1": stores to page 0, loads page 1
     * @param budget how often each failure may happen
     */
    AllSchedules(Setup setup, List<String> programs, Map<Event, Integer> budget) {
        this.setup = setup;
        this.programs = programs;
        this.budget = budget;
    }

    /**
     * Goes through all schedules, the shorter ones first, until there are enough states. All schedules of the last
     * length are gone through.
     */
    void explore(int enough) {
        List<List<String>> paths = List.of(List.of());
        seen.add(new Run().state());
        while (!paths.isEmpty() && seen.size() < enough) {
            List<List<String>> longer = new ArrayList<>();
            for (List<String> path : paths) {
                List<String> moves = run(path).moves();
                for (String move : moves) {
                    List<String> next = then(path, move);
                    if (seen.add(run(next).state())) {
                        longer.add(next);
                    }
                }
            }
            paths = longer;
            depth++;
        }
        isComplete = paths.isEmpty();
    }

    private Run run(List<String> path) {
        Run run = new Run();
        try {
            path.forEach(run::move);
            if (run.moves().isEmpty()) {
                run.checkEnd();
            }
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError(path + ": " + e.getMessage(), e);
        }
        return run;
    }

    /** How many states were reached, and by how long schedules. */
    @Override
    public String toString() {
        return "%d states by %s of %d steps".formatted(seen.size(), isComplete ? "all schedules," : "schedules", depth);
    }

    int depth() {
        return depth;
    }

    private static List<String> then(List<String> path, String move) {
        List<String> more = new ArrayList<>(path);
        more.add(move);
        return more;
    }

    /** One schedule, from the beginning. */
    private final class Run {
        final CoherentWorld world = new CoherentWorld(setup, Random.from(() -> 0));
        final int[] done = new int[programs.size()];
        final Map<Event, Integer> left = new HashMap<>(budget);

        /** The homes know their members. */
        Run() {
            settle();
            for (List<String> messages = messages(); !messages.isEmpty(); messages = messages()) {
                move(messages.getFirst());
            }
        }

        private List<String> messages() {
            return moves().stream()
                    .filter(move ->
                            move.startsWith("request") || move.startsWith("answer") || move.startsWith("mirror"))
                    .toList();
        }

        private void settle() {
            world.now += MOVE_NANOS;
            for (int i = 0; i < 2; i++) {
                world.nodes.forEach(world::cycle);
                world.homes.forEach(SimulatedHome::send);
            }
            world.check();
        }

        void move(String move) {
            String[] words = move.split(" ");
            int one = Integer.parseInt(words[1]);
            int other = words.length > 2 ? Integer.parseInt(words[2]) : 0;
            Node node = world.nodes.get(Math.min(one, world.nodes.size() - 1));
            switch (words[0]) {
                case "request" -> world.deliver(node, other, true);
                case "answer" -> world.deliver(node, other, false);
                case "mirror" -> world.deliverMirror(one);
                case "thread" -> thread(node, one);
                case "connect" -> node.connect(other);
                case "break" -> {
                    spend(Event.BREAKS);
                    node.disconnect(other);
                }
                case "restart" -> {
                    spend(Event.RESTARTS);
                    world.restart(one);
                }
                case "drop" -> {
                    spend(Event.DROPS);
                    world.drop(one);
                }
                case "learn" -> node.follow();
                case "end" -> world.homes.get(one).follow(false);
                case "die" -> {
                    spend(Event.ADOPTS);
                    node.run(node::die);
                }
                case "cut" -> node.cutOff(other);
                case "adopt" -> node.adopt();
                default -> throw new IllegalArgumentException(move);
            }
            settle();
        }

        private void spend(Event event) {
            left.merge(event, -1, Integer::sum);
        }

        private boolean has(Event event) {
            return left.getOrDefault(event, 0) > 0;
        }

        private void thread(Node node, int number) {
            Worker worker = node.process.workers.getFirst();
            if (worker.isIdle()) {
                String operation = programs.get(number).split(" ")[done[number]++];
                world.begin(worker, operation.charAt(1) - '0', operation.charAt(0) == 'w');
            }
            node.process.run(worker);
        }

        private boolean isDone(int number) {
            return world.nodes.get(number).process.workers.getFirst().isIdle()
                    && done[number] == programs.get(number).split(" ").length;
        }

        List<String> moves() {
            List<String> moves = new ArrayList<>();
            for (int i = 0; i < world.nodes.size(); i++) {
                moves(i, world.nodes.get(i), moves);
            }
            for (SimulatedHome home : world.homes) {
                SimulatedChannel channel = world.mirrors[home.number];
                if (channel != null && !channel.isEmpty()) {
                    moves.add("mirror " + home.number);
                }
                if (home.isDropped() && home.directory != null) {
                    moves.add("end " + home.number);
                }
                if (has(Event.RESTARTS)) {
                    moves.add("restart " + home.number);
                }
                if (has(Event.DROPS) && home.number < setup.homes()) {
                    moves.add("drop " + home.number);
                }
            }
            return moves;
        }

        private void moves(int number, Node node, List<String> moves) {
            Worker worker = node.process.workers.getFirst();
            if (!worker.waits && !isDone(number)) {
                moves.add("thread " + number);
            }
            if (node.isBehind()) {
                moves.add("learn " + number);
            }
            if (node.isDown) {
                moves.add("adopt " + number);
            } else if (has(Event.ADOPTS)) {
                moves.add("die " + number);
            }
            for (int home = 0; home < setup.places(); home++) {
                SimulatedChannel to = node.toHome[home];
                SimulatedChannel from = node.fromHome[home];
                if (to == null || from == null) {
                    if (!node.isDown) {
                        moves.add("connect %d %d".formatted(number, home));
                    }
                    continue;
                }
                if (!to.isEmpty()) {
                    moves.add("request %d %d".formatted(number, home));
                }
                if (!from.isEmpty() && !node.isDown) {
                    moves.add("answer %d %d".formatted(number, home));
                }
                if (has(Event.BREAKS)) {
                    moves.add("break %d %d".formatted(number, home));
                }
                if (node.isDown && !node.hasCutOff[home]) {
                    moves.add("cut %d %d".formatted(number, home));
                }
            }
        }

        void checkEnd() {
            for (int i = 0; i < programs.size(); i++) {
                if (!isDone(i)) {
                    throw new AssertionError("a thread waits for ever: " + world.describe());
                }
            }
        }

        /** All that decides how it can go on. */
        String state() {
            StringBuilder text = new StringBuilder();
            text.append(left);
            for (int i = 0; i < world.nodes.size(); i++) {
                Node node = world.nodes.get(i);
                text.append('\n').append(done[i]).append(node.isDown).append(node.isBehind());
                text.append(node.process.workers).append(' ');
                for (int page = 0; page < setup.pages(); page++) {
                    text.append(node.process.isPresent(page) ? world.age(page, node.process.word(page)) : "absent")
                            .append(node.process.isWritable(page))
                            .append(' ');
                }
                text.append(node.member);
                for (int home = 0; home < setup.places(); home++) {
                    append(text, node.toHome[home]);
                    append(text, node.fromHome[home]);
                    text.append(node.hasCutOff[home]);
                }
            }
            for (SimulatedHome home : world.homes) {
                text.append('\n').append(home.directory).append(home.second).append(home.isDropped());
                for (int i = 0; i < home.extent.pages(); i++) {
                    long value = home.extent.frames().get(JAVA_LONG, (long) i * SimulatedProcess.PAGE);
                    text.append(world.age((int) home.extent.firstPage() + i, value));
                }
                append(text, world.mirrors[home.number]);
            }
            return numbered(text.toString());
        }

        private void append(StringBuilder text, @Nullable SimulatedChannel channel) {
            text.append(channel == null ? "-" : "[");
            for (MemorySegment message : channel == null ? List.<MemorySegment>of() : channel.sent()) {
                MessageKind kind = Objects.requireNonNull(CoherentMessage.kind(message));
                text.append(kind)
                        .append(CoherentMessage.page(message))
                        .append(CoherentMessage.hasShared(message))
                        .append(CoherentMessage.isUnchanged(message))
                        .append("session ")
                        .append(CoherentMessage.session(message));
                if (kind == MessageKind.SYNC) {
                    for (int i = 0; i < setup.pages(); i++) {
                        text.append(CoherentMessage.held(message, i));
                    }
                } else if (CoherentMessage.hasPayload(message) && kind != MessageKind.REFUSED) {
                    text.append(world.age(
                            (int) CoherentMessage.page(message),
                            CoherentMessage.payload(message).get(JAVA_LONG, 0)));
                }
                text.append(' ');
            }
        }

        /** With sessions numbered in the order in which they occur. */
        private static String numbered(String text) {
            Map<String, String> numbers = new HashMap<>();
            return SESSION.matcher(text)
                    .replaceAll(found -> "session "
                            + numbers.computeIfAbsent(found.group(1), _ -> Integer.toString(numbers.size())));
        }
    }
}
