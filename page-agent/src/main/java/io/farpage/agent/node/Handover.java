package io.farpage.agent.node;

import io.farpage.agent.control.guest.Guests;
import io.farpage.agent.control.keeper.KeeperState;
import io.farpage.agent.control.keeper.KeptMemory;
import io.farpage.agent.control.member.Ending;
import io.farpage.agent.rest.HandoverStatus;
import io.farpage.rest.ProblemException;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * Ends this agent in favour of its standby. The process ends as if it were killed, since a successor can go on from
 * each moment; so a planned handover and a crash take the same way. What a crash would lose is checked before, and
 * nothing is changed if there is such.
 */
final class Handover {
    /** For the answer to the request to leave the process. */
    private static final Duration ANSWER = Duration.ofMillis(20);

    private final Optional<KeptMemory> keeper;
    private final Guests guests;
    private final Consumer<Ending> ended;

    /** @param ended ends the process */
    Handover(Optional<KeptMemory> keeper, Guests guests, Consumer<Ending> ended) {
        this.keeper = keeper;
        this.guests = guests;
        this.ended = ended;
    }

    /** @throws ProblemException naming what is in the way; this agent goes on as before */
    HandoverStatus begin() {
        KeptMemory memory = keeper.orElseThrow(() -> ProblemException.conflict(
                "not-kept",
                "keeper.mode of this agent is off: its pool and guests end with its process, and no other can"
                        + " take over; set keeper.mode to process"));
        KeeperState state = look(memory);
        if (state.standby() == 0) {
            throw ProblemException.conflict(
                    "no-standby",
                    "no standby of this agent is warm; start one with keeper.standby true, or use 'page-agent"
                            + " upgrade'");
        }
        guests.leave().ifPresent(obstacle -> {
            throw ProblemException.conflict("guest-not-kept", obstacle);
        });
        String reason = "hands over to process %d".formatted(state.standby());
        Thread.ofVirtual().name("handover").start(() -> {
            LockSupport.parkNanos(ANSWER.toNanos());
            ended.accept(new Ending.HandedOver(reason));
        });
        return new HandoverStatus(state.agent(), state.standby());
    }

    private static KeeperState look(KeptMemory memory) {
        try {
            if (memory.isComplete()) {
                return memory.look();
            }
        } catch (IOException e) {
            throw away(String.valueOf(e.getMessage()));
        }
        throw away("it has ended, or could not take all of it");
    }

    private static ProblemException away(String why) {
        return ProblemException.conflict(
                "keeper-away", "the keeper does not have what a successor needs: " + why + "; start it again");
    }
}
