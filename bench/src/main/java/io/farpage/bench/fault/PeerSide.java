package io.farpage.bench.fault;

import io.farpage.bench.command.ComparedSide;
import io.farpage.bench.report.FetchRound;
import io.farpage.guest.command.CommandException;
import java.util.ArrayList;
import java.util.List;

/** A way to bring pages, which takes turns with the others. What it brings is right in every round. */
final class PeerSide implements ComparedSide {
    private final Words words;
    private final List<Long> processes;
    private final Touch touch;
    private final List<FetchRound> turns = new ArrayList<>();

    /**
     * What reports say of it.
     *
     * @param label unique among the sides of a run
     * @param transport of the pages
     * @param backing what its pages are in
     */
    record Words(String label, String transport, String backing) {}

    /** A round of the toucher. */
    @FunctionalInterface
    interface Touch {
        FetchRound run(int round) throws InterruptedException;
    }

    /** @param processes that take part and live through the rounds */
    PeerSide(Words words, List<Long> processes, Touch touch) {
        this.words = words;
        this.processes = List.copyOf(processes);
        this.touch = touch;
    }

    Words words() {
        return words;
    }

    /** All rounds so far. */
    List<FetchRound> turns() {
        return turns;
    }

    @Override
    public String label() {
        return words.label();
    }

    /** @throws CommandException if a page did not hold what it should */
    @Override
    public FetchRound run(int round) throws InterruptedException {
        FetchRound turn = touch.run(round);
        if (turn.mismatches() > 0) {
            throw new CommandException(
                    "%s: %d pages did not hold what they should".formatted(words.label(), turn.mismatches()));
        }
        turns.add(turn);
        return turn;
    }

    @Override
    public List<Long> processes() {
        return processes;
    }
}
