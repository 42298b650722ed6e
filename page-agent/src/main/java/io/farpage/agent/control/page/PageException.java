package io.farpage.agent.control.page;

import io.farpage.agent.data.shard.FetchStatus;

/** A page could not be moved. The message names the page, its home and the reason. */
public final class PageException extends Exception {
    private static final long serialVersionUID = 1L;

    private final FetchStatus status;

    PageException(FetchStatus status, String message) {
        super(message);
        this.status = status;
    }

    public FetchStatus status() {
        return status;
    }
}
