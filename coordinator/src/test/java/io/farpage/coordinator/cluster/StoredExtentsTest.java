package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.extent.ExtentCommand;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.StoreException;
import io.farpage.coordinator.store.Table;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Each extent is a row of the store; a store whose rows are not all extents of all spaces is refused. */
@Tag("portable")
class StoredExtentsTest {

    private static final int PAGE = 4096;
    private static final int EXTENTS = 8;
    private static final long PAGES = EXTENTS * Placement.LEAST_PAGES;

    private final Fixture with = new Fixture();

    @BeforeEach
    void makeASpaceOfSeveralExtents() {
        with.membership.register("h1", Fixture.node(11, 2 * PAGES * PAGE));
        with.membership.register("h2", Fixture.node(12, 2 * PAGES * PAGE));
        with.spaces.create(new SpaceRequest("vm", PAGES * PAGE, OptionalInt.empty(), Optional.empty()).withReplicas(2));
        assertEquals(EXTENTS, extents().size());
    }

    private Space space() {
        return with.ledger.state().space("vm").orElseThrow();
    }

    private List<Extent> extents() {
        return with.ledger.state().extentsOf(space());
    }

    private List<String> keys() {
        return List.copyOf(with.store.rows(Table.EXTENTS).keySet());
    }

    @Test
    void shouldWriteOnlyTheExtentThatAChangeConcerns() {
        Extent third = extents().get(2);
        List<Change> written = with.ledger.change(draft -> {
            draft.extents.change(
                    space(draft),
                    extent -> extent.firstPage() == third.firstPage()
                            ? List.of(new ExtentCommand.Drop(third.homes().getLast()))
                            : List.of());
            return draft.changes().stream()
                    .filter(change -> change.table() == Table.EXTENTS)
                    .toList();
        });
        assertEquals(List.of(keys().get(2)), written.stream().map(Change::key).toList());
        List<Extent> before = extents();
        with.restart();
        assertEquals(before, extents());
        assertEquals(1, extents().get(2).homes().size());
    }

    private static Space space(Draft draft) {
        return draft.requireSpace("vm");
    }

    @Test
    void shouldLeaveNoRowOfASpaceThatIsGone() {
        with.ledger.change(draft -> {
            draft.extents.remove(space(draft));
            draft.spaces.remove(Keys.id(space(draft).id()));
            return true;
        });
        assertEquals(List.of(), keys());
    }

    @Test
    void shouldRefuseAStoreThatLacksAnExtent() {
        for (int missing : List.of(0, 3, EXTENTS - 1)) {
            String key = keys().get(missing);
            String row =
                    Optional.ofNullable(with.store.rows(Table.EXTENTS).get(key)).orElseThrow();
            with.store.commit(List.of(new Change(Table.EXTENTS, key, Optional.empty())));
            String refusal = String.valueOf(
                    assertThrows(StoreException.class, with::restart).getMessage());
            assertTrue(refusal.contains("page " + missing * Placement.LEAST_PAGES), refusal);
            with.store.commit(List.of(new Change(Table.EXTENTS, key, Optional.of(row))));
            with.restart();
        }
    }

    @Test
    void shouldRefuseAStoreWithAnExtentOfNoSpace() {
        String row = Optional.ofNullable(with.store.rows(Table.EXTENTS).get(keys().getFirst()))
                .orElseThrow();
        String key = Keys.id(space().id() + 1) + "/" + Keys.id(0);
        with.store.commit(List.of(new Change(Table.EXTENTS, key, Optional.of(row))));
        String refusal =
                String.valueOf(assertThrows(StoreException.class, with::restart).getMessage());
        assertTrue(refusal.contains("is of no space"), refusal);
    }
}
