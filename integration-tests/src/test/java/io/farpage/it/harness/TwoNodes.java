package io.farpage.it.harness;

import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives tests a cluster of the nodes a and b that all test classes of this JVM share. For tests that harm nothing: it
 * is started once and closed when the JVM ends. JUnit's store of the root context does not last so long, since Surefire
 * runs each class by itself.
 */
public final class TwoNodes implements BeforeAllCallback, ParameterResolver {
    /** Started by the first class that needs it. */
    private static final class Shared {
        static final Cluster CLUSTER = Cluster.of("a", "b");

        static {
            Runtime.getRuntime().addShutdownHook(new Thread(CLUSTER::close, "close-two-nodes"));
        }
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        cluster();
    }

    private static Cluster cluster() {
        return Shared.CLUSTER;
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == Cluster.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return cluster();
    }
}
