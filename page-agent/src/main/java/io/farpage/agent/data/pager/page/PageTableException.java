package io.farpage.agent.data.pager.page;

/** The system has no memory for a guest's page table. The message says how much was asked for. */
public final class PageTableException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    PageTableException(String message) {
        super(message);
    }
}
