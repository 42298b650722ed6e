package io.farpage.it.harness;

import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives tests a cluster of the nodes a and b that all of them share. For tests that harm nothing: it is started once and closed at the
 * end of the run.
 */
public final class TwoNodes implements BeforeAllCallback, ParameterResolver {
    private static final String KEY = "two nodes";

    @Override
    public void beforeAll(ExtensionContext context) {
        cluster(context);
    }

    private static Cluster cluster(ExtensionContext context) {
        return context.getRoot()
                .getStore(Namespace.create(TwoNodes.class))
                .getOrComputeIfAbsent(KEY, key -> Cluster.of("a", "b"), Cluster.class);
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == Cluster.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return cluster(context);
    }
}
