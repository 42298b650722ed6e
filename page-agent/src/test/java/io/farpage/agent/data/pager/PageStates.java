package io.farpage.agent.data.pager;

import io.farpage.agent.data.pager.page.PageTable;
import java.util.OptionalInt;

/** Brings pages into a state by transitions that a pager makes. */
public final class PageStates {

    private PageStates() {}

    public static void set(PageTable table, int page, int state) {
        if (table.state(page) != state) {
            before(state).ifPresent(earlier -> set(table, page, earlier));
            table.setState(page, state);
        }
    }

    /** As {@link #set(PageTable, int, int)}, of {@code count} pages from {@code first} on. */
    public static void set(PageTable table, int first, int count, int state) {
        for (int page = first; page < first + count; page++) {
            set(table, page, state);
        }
    }

    /** A state from which a page may come into this one; empty if it may from any. */
    private static OptionalInt before(int state) {
        return switch (state) {
            case PageTable.ZERO -> OptionalInt.empty();
            case PageTable.DIRTY -> OptionalInt.of(PageTable.ZERO);
            case PageTable.CLEAN, PageTable.EVICTING -> OptionalInt.of(PageTable.DIRTY);
            case PageTable.REMOTE -> OptionalInt.of(PageTable.CLEAN);
            case PageTable.FETCHING, PageTable.LOST -> OptionalInt.of(PageTable.REMOTE);
            default -> throw new IllegalArgumentException("state " + state);
        };
    }
}
