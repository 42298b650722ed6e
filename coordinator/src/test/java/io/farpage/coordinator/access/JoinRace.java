package io.farpage.coordinator.access;

import io.farpage.access.TokenRefusedException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Many threads that use one join token at the same time. */
public final class JoinRace {

    private static final int THREADS = 20;

    private JoinRace() {}

    /** How many of the threads got the certificate of the node; each asks one of the given coordinators. */
    public static int winners(String token, String node, List<JoinTokens> coordinators)
            throws InterruptedException, ExecutionException {
        List<Future<Boolean>> attempts = new ArrayList<>();
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < THREADS; i++) {
                JoinTokens asked = coordinators.get(i % coordinators.size());
                attempts.add(threads.submit(() -> isUsed(asked, token, node)));
            }
        }
        int winners = 0;
        for (Future<Boolean> attempt : attempts) {
            winners += attempt.get() ? 1 : 0;
        }
        return winners;
    }

    private static boolean isUsed(JoinTokens asked, String token, String node) {
        try {
            asked.use(token, node);
            return true;
        } catch (TokenRefusedException e) {
            return false;
        }
    }
}
