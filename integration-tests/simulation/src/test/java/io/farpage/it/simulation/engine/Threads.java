package io.farpage.it.simulation.engine;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.util.concurrent.Executor;

/**
 * Virtual threads that a scheduler of our own runs. The JDK has a constructor for that, for tests, which it does not
 * export.
 */
final class Threads {
    private static final Constructor<?> BUILDER = builder();

    private Threads() {}

    private static Constructor<?> builder() {
        try {
            Constructor<?> constructor = Class.forName("java.lang.ThreadBuilders$VirtualThreadBuilder")
                    .getDeclaredConstructor(Executor.class);
            constructor.setAccessible(true);
            return constructor;
        } catch (ReflectiveOperationException | RuntimeException e) {
            throw new IllegalStateException("run java with --add-opens java.base/java.lang=ALL-UNNAMED", e);
        }
    }

    static Thread.Builder.OfVirtual ofVirtual(Node node) {
        try {
            return (Thread.Builder.OfVirtual) BUILDER.newInstance(node.executor());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The thread that a task of the scheduler continues. */
    static Thread of(Runnable task) {
        try {
            Field captured = FIELDS.get(task.getClass());
            return (Thread) captured.get(task);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static final ClassValue<Field> FIELDS = new ClassValue<>() {
        @Override
        protected Field computeValue(Class<?> type) {
            Field field = type.getDeclaredFields()[0];
            field.setAccessible(true);
            return field;
        }
    };
}
