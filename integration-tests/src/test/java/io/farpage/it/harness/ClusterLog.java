package io.farpage.it.harness;

import java.util.function.Supplier;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Prints what the processes of a cluster wrote when a test fails. Register it as a field. */
public final class ClusterLog implements AfterTestExecutionCallback {
    private final Supplier<Cluster> cluster;

    public ClusterLog(Supplier<Cluster> cluster) {
        this.cluster = cluster;
    }

    @Override
    public void afterTestExecution(ExtensionContext context) {
        if (context.getExecutionException().isPresent()) {
            System.err.println("==== " + context.getDisplayName() + " failed; the processes said:");
            System.err.println(cluster.get().describe());
        }
    }
}
