package io.farpage.agent.data.coherence;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.agent.data.coherence.Bounces.Bounce;
import java.util.List;
import org.junit.jupiter.api.Test;

class BouncesTest {
    private final Bounces bounces = new Bounces();

    @Test
    void shouldCountMovesOfAPage() {
        bounces.moved(5, 0, 1);
        bounces.moved(6, 0, 1);
        bounces.moved(5, 1, 0);
        assertEquals(List.of(new Bounce(5, 2, 1, 0), new Bounce(6, 1, 0, 1)), bounces.most(8));
        assertEquals(1, bounces.most(1).size());
    }

    @Test
    void shouldFindThePagesThatMoveMostAmongMany() {
        for (int i = 0; i < 10_000; i++) {
            bounces.moved(1_000 + i, 0, 1);
            bounces.moved(i % 2, 0, 1);
        }
        List<Integer> most = bounces.most(2).stream().map(Bounce::page).sorted().toList();
        assertEquals(List.of(0, 1), most);
    }
}
