package io.farpage.log;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.JsonEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import org.slf4j.LoggerFactory;

/** The log of this process. Thread-safe. */
public final class LogOutput {
    /** The loggers of farpage's own classes. Libraries log warnings and errors as before. */
    private static final String OWN = "io.farpage";

    private LogOutput() {}

    private static LoggerContext context() {
        return (LoggerContext) LoggerFactory.getILoggerFactory();
    }

    /** The level from which on farpage's own classes log. */
    public static LogLevel level() {
        return LogLevel.valueOf(context().getLogger(OWN).getEffectiveLevel().levelStr);
    }

    /** Changes the level from which on farpage's own classes log. */
    public static void level(LogLevel level) {
        context().getLogger(OWN).setLevel(Level.valueOf(level.name()));
    }

    /** Has entries written in a format from now on. Text stays as it is configured. */
    static void format(LogFormat format) {
        if (format == LogFormat.TEXT) {
            return;
        }
        LoggerContext context = context();
        Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
        ConsoleAppender<ILoggingEvent> appender = new ConsoleAppender<>();
        appender.setContext(context);
        appender.setName("stderr");
        appender.setTarget("System.err");
        appender.setEncoder(jsonEncoder(context));
        appender.start();
        root.detachAndStopAllAppenders();
        root.addAppender(appender);
    }

    private static JsonEncoder jsonEncoder(LoggerContext context) {
        JsonEncoder encoder = new JsonEncoder();
        encoder.setContext(context);
        encoder.setWithSequenceNumber(false);
        encoder.setWithNanoseconds(false);
        encoder.setWithContext(false);
        encoder.setWithMDC(false);
        encoder.setWithMessage(false);
        encoder.setWithArguments(false);
        encoder.setWithFormattedMessage(true);
        encoder.start();
        return encoder;
    }
}
