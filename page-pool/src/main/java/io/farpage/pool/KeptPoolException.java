package io.farpage.pool;

/** The memory of an earlier process is not the pool that is configured, or is damaged. It is not changed. */
public final class KeptPoolException extends PoolException {
    private static final long serialVersionUID = 1L;

    /** What gives up the pages, for any reason. */
    private static final String DROP =
            "to give up its pages and start with an empty pool, run page-agent keeper-drop and start the agent again";

    private KeptPoolException(String problem, String fix) {
        super(problem, fix);
    }

    static KeptPoolException of(String problem) {
        return new KeptPoolException("the pool that was kept cannot be adopted: " + problem, DROP);
    }

    static KeptPoolException of(String problem, String instead) {
        return new KeptPoolException("the pool that was kept cannot be adopted: " + problem, instead + "; or, " + DROP);
    }
}
