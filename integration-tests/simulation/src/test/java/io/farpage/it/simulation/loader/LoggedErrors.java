package io.farpage.it.simulation.loader;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.AppenderBase;
import java.util.function.Consumer;
import org.slf4j.LoggerFactory;

/** Errors that the simulated processes log with a stack trace: no fault of the world is a reason for one. */
public final class LoggedErrors extends AppenderBase<ILoggingEvent> {
    private static Consumer<String> traces = _ -> {};
    private static Consumer<String> messages = _ -> {};

    /**
     * Where they go.
     *
     * @param withTraces those with a stack trace
     * @param others the messages of the others
     */
    public static void to(Consumer<String> withTraces, Consumer<String> others) {
        traces = withTraces;
        messages = others;
    }

    /**
     * Begins to collect them.
     *
     * @param level from which on everything is written to standard error, too; OFF: nothing
     */
    public static void install(Level level) {
        LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
        Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
        if (level == Level.OFF) {
            root.detachAndStopAllAppenders();
        }
        LoggedErrors appender = new LoggedErrors();
        appender.setContext(context);
        appender.start();
        root.addAppender(appender);
        root.setLevel(Level.ERROR);
        context.getLogger("io.farpage").setLevel(level == Level.OFF ? Level.ERROR : level);
    }

    @Override
    protected void append(ILoggingEvent event) {
        if (!event.getLevel().isGreaterOrEqual(Level.ERROR)) {
            return;
        }
        if (event.getThrowableProxy() == null) {
            messages.accept(event.getFormattedMessage());
        } else {
            traces.accept(event.getLoggerName() + ": " + event.getFormattedMessage() + "\n"
                    + ThrowableProxyUtil.asString(event.getThrowableProxy()));
        }
    }
}
