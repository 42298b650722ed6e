package io.farpage.agent.rest;

import static io.farpage.agent.rest.AgentOperations.OPERATOR;
import static io.farpage.rest.Operation.delete;
import static io.farpage.rest.Operation.getText;
import static io.farpage.rest.Operation.put;

import io.farpage.rest.Operation;
import io.farpage.rest.Operation.QueryParameter;

/** The calls for what is in the memory of a guest, which is nothing for a viewer. */
public final class PageOperations {
    /** The media type of pages. */
    public static final String BYTES = "application/octet-stream";

    private static final String PAGE = GuestOperations.SPACE + "/pages/{page}";
    private static final String MEMORY = GuestOperations.SPACE + "/memory";

    public static final Operation<Void, Void> READ =
            getText(PAGE, OPERATOR, BYTES).summary("Read a page from its home");

    public static final Operation<Void, Void> WRITE =
            put(PAGE, OPERATOR, "page.write").summary("Write a page to its home; the body is the page");

    public static final Operation<Void, Void> DISCARD =
            delete(PAGE, OPERATOR, "page.discard").summary("Make a page zeros again");

    public static final Operation<Void, Void> SAVE = getText(MEMORY, OPERATOR, BYTES)
            .summary("All memory of a space, the first page first")
            .with(new QueryParameter("force", false, "true: also of a torn space"));

    public static final Operation<Void, Void> LOAD = put(MEMORY, OPERATOR, "memory.write")
            .summary("Replace all memory of a space by the body, which must be as long");

    private PageOperations() {}
}
