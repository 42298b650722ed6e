package io.farpage.bench.coherent;

import io.farpage.bench.report.FetchRound;
import io.farpage.guest.command.CommandException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

/**
 * The kinds of faults. Each brings the pages of its region into the state that it needs, and then touches them in a
 * random order. The members of {@link Memory#SHARED} are at the first four nodes, and none is at a home. Used by one
 * thread.
 */
final class Faults {
    /** Threads that touch private pages at the same time. */
    static final int THREADS = 8;

    private static final int SHARERS = 3;
    private static final int READAHEAD = 32;
    private static final int LAST = CoherentPlan.NODES - 1;

    private final CoherentPlan plan;
    private final CoherentAgents agents;
    private final Hands hands;
    private final List<Member> shared;
    private final Member alone;
    private final Member exclusive;
    private final List<Member> adding;

    /** All members begin; the pages that are read get their values. */
    Faults(CoherentPlan plan, CoherentAgents agents) throws InterruptedException {
        this.plan = plan;
        this.agents = agents;
        this.hands = new Hands(plan.turnTimeout());
        shared = List.of(
                agents.begin(Memory.SHARED, 0, 1),
                agents.begin(Memory.SHARED, 1, 1),
                agents.begin(Memory.SHARED, 2, 1),
                agents.begin(Memory.SHARED, SHARERS, 1));
        alone = agents.begin(Memory.PRIVATE, 0, 1);
        exclusive = agents.begin(Memory.PRIVATE_EXCLUSIVE, 0, 1);
        adding = List.of(agents.begin(Memory.SUM, 0, READAHEAD), agents.begin(Memory.SUM, LAST, READAHEAD));
        for (Member member : List.of(alone, exclusive)) {
            one(hand -> forAll(Memory.PRIVATE, page -> hand.store(member, page, page)));
        }
        one(hand -> forAll(Memory.SUM, page -> hand.store(adding.getFirst(), page, page)));
        Member filling = agents.begin(Memory.EXCLUSIVE, 0, 1);
        one(hand -> forAll(Memory.EXCLUSIVE, page -> hand.store(filling, page, page)));
        agents.end(Memory.EXCLUSIVE, 0, filling);
    }

    private interface Touch {
        void touch(int page);
    }

    private interface One {
        void run(Hand hand);
    }

    private FetchRound one(One work) throws InterruptedException {
        return hands.run(List.of(plan.faultingCpu()), (hand, _) -> work.run(hand));
    }

    private void forAll(Memory memory, Touch touch) {
        for (int page = 0; page < memory.pages(plan); page++) {
            touch.touch(page);
        }
    }

    private static long value(int round, int page) {
        return (round + 1) * 1_000_003L + page;
    }

    /** The pages of a region, in an order of their own in each round. */
    private List<Integer> order(int first, int round) {
        List<Integer> pages = new ArrayList<>(
                IntStream.range(first, first + plan.given().count).boxed().toList());
        Collections.shuffle(pages, new Random(plan.run().seed() * 1_000_003 + round));
        return pages;
    }

    private List<Integer> order(Memory.Region region, int round) {
        return order(region.ordinal() * plan.given().count, round);
    }

    private FetchRound store(int node, List<Integer> pages, int round) throws InterruptedException {
        return one(hand -> pages.forEach(page -> hand.store(shared.get(node), page, value(round, page))));
    }

    private FetchRound load(int node, List<Integer> pages, int round) throws InterruptedException {
        return one(hand -> pages.forEach(page -> hand.load(shared.get(node), page, value(round, page))));
    }

    /** A load of a page that two other members have for reading, so that its home has it, too. */
    FetchRound cleanRead(int round) throws InterruptedException {
        List<Integer> pages = order(Memory.Region.CLEAN, round);
        store(1, pages, round);
        load(2, pages, round);
        return load(0, pages, round);
    }

    /** A load of a page that another member has stored to. */
    FetchRound dirtyRead(int round) throws InterruptedException {
        List<Integer> pages = order(Memory.Region.DIRTY, round);
        store(1, pages, round);
        return load(0, pages, round);
    }

    /** A store to a page that the member and one other have for reading. */
    FetchRound writeWithOneSharer(int round) throws InterruptedException {
        return write(Memory.Region.ONE_SHARER, 1, round);
    }

    /** A store to a page that the member and three others have for reading. */
    FetchRound writeWithThreeSharers(int round) throws InterruptedException {
        return write(Memory.Region.THREE_SHARERS, SHARERS, round);
    }

    private FetchRound write(Memory.Region region, int sharers, int round) throws InterruptedException {
        List<Integer> pages = order(region, round);
        store(0, pages, round);
        for (int sharer = 1; sharer <= sharers; sharer++) {
            load(sharer, pages, round);
        }
        return store(0, pages, -round - 2);
    }

    /** A load of a page of an exclusive space. */
    FetchRound exclusiveRead(int round) throws InterruptedException {
        List<Integer> pages = order(0, round);
        Member guest = agents.begin(Memory.EXCLUSIVE, 0, 1);
        FetchRound done = one(hand -> pages.forEach(page -> hand.load(guest, page, page)));
        agents.end(Memory.EXCLUSIVE, 0, guest);
        return done;
    }

    /**
     * Threads that load pages of a member that is alone, all over its memory. Stores would make the guest of an
     * exclusive space wait for inspections of this process, which take the longer the more it has mapped.
     */
    FetchRound privatePages(int round) throws InterruptedException {
        return touch(alone, round);
    }

    /** The same of a guest of an exclusive space. */
    FetchRound exclusivePages(int round) throws InterruptedException {
        return touch(exclusive, round);
    }

    private FetchRound touch(Member member, int round) throws InterruptedException {
        List<Integer> pages = order(0, round);
        return hands.run(Collections.nCopies(THREADS, plan.faultingCpu()), (hand, number) -> {
            for (int i = number; i < pages.size(); i += THREADS) {
                int page = pages.get(i);
                hand.load(member, page, page);
            }
        });
    }

    /** One node adds all pages in their order. */
    FetchRound sum(int ignored) throws InterruptedException {
        return add(List.of(plan.faultingCpu()));
    }

    /** Two nodes add half of the pages each, at the same time. */
    FetchRound parallelSum(int ignored) throws InterruptedException {
        return add(List.of(plan.faultingCpu(), plan.otherCpu()));
    }

    private FetchRound add(List<Integer> cpus) throws InterruptedException {
        int all = Memory.SUM.pages(plan);
        int share = all / cpus.size();
        AtomicLong sum = new AtomicLong();
        FetchRound done = hands.run(cpus, (hand, number) -> {
            long own = 0;
            for (int page = number * share; page < (number + 1) * share; page++) {
                own += hand.sum(adding.get(number), page);
            }
            sum.addAndGet(own);
        });
        long expected = all * (all - 1L) / 2;
        if (sum.get() != expected) {
            throw new CommandException("the sum of %d pages is %d, expected %d".formatted(all, sum.get(), expected));
        }
        return done;
    }
}
