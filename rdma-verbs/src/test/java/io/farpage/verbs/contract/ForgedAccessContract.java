package io.farpage.verbs.contract;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Accesses with forged and foreign keys, in bursts: not a byte of the target or of this side changes, and each access
 * ends with a refusal. Between the bursts a queue pair that was connected before them WRITEs and READs with the right
 * key, which shows that the target still serves.
 */
public abstract class ForgedAccessContract {
    private static final int PAIRS = 16;
    private static final byte INK = (byte) 0xA7;
    private static final long BEHIND = 1L << 32;
    /** Queue pairs with room for a forged access and a request behind it. */
    private static final QpOptions FEW = Connected.OPTIONS.withSizes(new QpOptions.Sizes(4, 4, 1, 0, 4));

    protected abstract VerbsFixture open();

    /** Accesses of the short run. */
    protected long draws() {
        return 6_000;
    }

    @Test
    void shouldMoveNoByteWhenAnAccessIsForged() {
        forge(open(), draws());
    }

    /** Draws {@code count} accesses. */
    protected static void forge(VerbsFixture fixture, long count) {
        long seed = System.nanoTime();
        try (Attack attack = new Attack(fixture, seed)) {
            attack.useRightly();
            long start = System.nanoTime();
            while (attack.drawn < count) {
                attack.burst((int) Math.min(PAIRS, count - attack.drawn));
                attack.useRightly();
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            System.out.printf(
                    "forged accesses: %d, 0 bytes read or written, %d rightful WRITEs and READs between them, %.0f s,"
                            + " %s, statuses %s, %d events, seed %d%n",
                    attack.drawn, attack.rightful, seconds, attack.reasons, attack.statuses, attack.events, seed);
        } catch (AssertionError e) {
            throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
        }
    }

    /** The victim, side B, and the attacker, side A, that is linked with it by many queue pairs. */
    private static final class Attack implements AutoCloseable {
        final Map<ForgedAccess.Reason, Integer> reasons = new EnumMap<>(ForgedAccess.Reason.class);
        final Map<WcStatus, Integer> statuses = new EnumMap<>(WcStatus.class);
        long drawn;
        long rightful;
        long events;

        private final Connected rightfully;
        private final Random random;
        private final ForgedPool pool;
        private final ForgedAccesses accesses;
        private final List<QueuePair> attackers = new ArrayList<>();
        private final List<QueuePair> victims = new ArrayList<>();
        private final ForgedAccess[] posted = new ForgedAccess[PAIRS];
        private final MemorySegment ink;
        private final MemorySegment blank;
        private final MemoryRegion inkRegion;
        private final Set<WcStatus> refusals;

        Attack(VerbsFixture fixture, long seed) {
            rightfully = new Connected(fixture, Connected.OPTIONS);
            random = new Random(seed);
            pool = new ForgedPool(rightfully.b, random);
            accesses = new ForgedAccesses(pool, random);
            ink = rightfully.a.allocate((long) PAIRS * ForgedAccesses.LONGEST).fill(INK);
            blank = rightfully.a.allocate(ink.byteSize()).fill(INK);
            inkRegion = rightfully.a.register(ink, Side.ALL);
            refusals = fixture.reported(WcStatus.REM_ACCESS_ERR);
            for (int i = 0; i < PAIRS; i++) {
                attackers.add(rightfully.a.queuePair(FEW));
                victims.add(rightfully.b.queuePair(FEW));
            }
        }

        /**
         * One access on each of {@code count} fresh connections; some have a rightful WRITE behind them, which must not
         * be done either.
         */
        void burst(int count) {
            int completions = 0;
            for (int i = 0; i < count; i++) {
                QueuePair attacker = attackers.get(i);
                attacker.modifyToReset();
                victims.get(i).modifyToReset();
                connect(attacker, victims.get(i));
            }
            readEvents();
            for (int i = 0; i < count; i++) {
                QueuePair attacker = attackers.get(i);
                ForgedAccess access = accesses.next();
                posted[i] = access;
                reasons.merge(access.why(), 1, Integer::sum);
                access.prepare(attacker, i, local(i), inkRegion.lkey());
                completions++;
                if (random.nextInt(4) == 0) {
                    attacker.prepareWrite(
                            BEHIND + i,
                            local(i),
                            64,
                            inkRegion.lkey(),
                            pool.space().address(),
                            pool.space().rkey(),
                            SendFlag.SIGNALED);
                    completions++;
                }
                attacker.postSend();
            }
            for (int i = 0; i < completions; i++) {
                requireRefused(rightfully.a.next());
            }
            drawn += count;
            assertEquals(-1, ink.mismatch(blank), () -> "bytes were read; one of " + List.of(posted));
            assertEquals(-1, pool.mismatch(), () -> "bytes were written; one of " + List.of(posted));
        }

        /** The victim answers and asks nothing. */
        private static void connect(QueuePair attacker, QueuePair victim) {
            attacker.modifyToInit();
            victim.modifyToInit();
            attacker.modifyToRtr(victim.endpoint());
            victim.modifyToRtr(attacker.endpoint());
            attacker.modifyToRts();
        }

        /** Reads the victim's asynchronous events, because a device keeps a limited number of them. */
        private void readEvents() {
            try {
                while (rightfully.b.device.awaitAsyncEvent(Duration.ZERO).isPresent()) {
                    events++;
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        private void requireRefused(WorkCompletion completion) {
            if (completion.wrId() >= BEHIND) {
                assertEquals(WcStatus.WR_FLUSH_ERR, completion.status(), "the request behind a forged one");
                return;
            }
            statuses.merge(completion.status(), 1, Integer::sum);
            assertTrue(
                    refusals.contains(completion.status()), () -> posted[(int) completion.wrId()] + ": " + completion);
        }

        private long local(int pair) {
            return ink.address() + (long) pair * ForgedAccesses.LONGEST;
        }

        /** WRITEs new bytes with the right key, and READs them. */
        void useRightly() {
            Side a = rightfully.a;
            long at = pool.space().address() + random.nextInt((int) pool.space().length() - ForgedPool.PAGE + 1);
            MemorySegment source = a.memory.asSlice(0, ForgedPool.PAGE);
            MemorySegment into = a.memory.asSlice(ForgedPool.PAGE, ForgedPool.PAGE);
            source.fill((byte) random.nextInt());
            source.set(JAVA_BYTE, random.nextInt(ForgedPool.PAGE), (byte) random.nextInt());
            into.fill(INK);
            int rkey = pool.space().rkey();
            rightfully.qpA.prepareWrite(
                    1, source.address(), ForgedPool.PAGE, a.region.lkey(), at, rkey, SendFlag.SIGNALED);
            rightfully.qpA.prepareRead(
                    2, into.address(), ForgedPool.PAGE, a.region.lkey(), at, rkey, SendFlag.SIGNALED);
            rightfully.qpA.postSend();
            a.polling().success(1);
            a.polling().success(2);
            pool.written(at, source);
            assertEquals(-1, into.mismatch(source), "a rightful READ");
            assertEquals(-1, pool.mismatch(), "a rightful WRITE");
            rightful++;
        }

        @Override
        public void close() {
            rightfully.close();
        }
    }
}
