package io.farpage.log;

import ch.qos.logback.classic.pattern.ThrowableProxyConverter;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.StackTraceElementProxy;
import ch.qos.logback.classic.spi.ThrowableProxy;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Writes a stack trace with the messages of its exceptions escaped, as {@link EscapedMessage} does for the message of
 * the event.
 */
public final class EscapedThrowable extends ThrowableProxyConverter {
    /**
     * Converts a throwable once, so that the classes for it are loaded before the process may run out of descriptors.
     */
    @Override
    public void start() {
        super.start();
        var _ = throwableProxyToString(new ThrowableProxy(new IOException("none", new IOException("none"))));
    }

    @Override
    protected String throwableProxyToString(IThrowableProxy throwable) {
        return super.throwableProxyToString(new Escaped(throwable));
    }

    private record Escaped(IThrowableProxy from) implements IThrowableProxy {
        private static @Nullable IThrowableProxy escaped(@Nullable IThrowableProxy proxy) {
            return proxy == null ? null : new Escaped(proxy);
        }

        @Override
        public @Nullable String getMessage() {
            String message = from.getMessage();
            return message == null ? null : Printable.of(message);
        }

        @Override
        public @Nullable String getOverridingMessage() {
            String message = from.getOverridingMessage();
            return message == null ? null : Printable.of(message);
        }

        @Override
        public String getClassName() {
            return from.getClassName();
        }

        @Override
        public StackTraceElementProxy[] getStackTraceElementProxyArray() {
            return from.getStackTraceElementProxyArray();
        }

        @Override
        public int getCommonFrames() {
            return from.getCommonFrames();
        }

        @Override
        public @Nullable IThrowableProxy getCause() {
            return escaped(from.getCause());
        }

        @Override
        public IThrowableProxy[] getSuppressed() {
            IThrowableProxy[] suppressed = from.getSuppressed();
            IThrowableProxy[] all = new IThrowableProxy[suppressed.length];
            for (int i = 0; i < all.length; i++) {
                all[i] = new Escaped(suppressed[i]);
            }
            return all;
        }

        @Override
        public boolean isCyclic() {
            return from.isCyclic();
        }
    }
}
