package io.farpage.log;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.PatternLayout;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.encoder.LayoutWrappingEncoder;
import ch.qos.logback.core.spi.ContextAwareBase;
import org.slf4j.Logger;

/**
 * Configures logback before the first entry. Logback finds this class by its name in META-INF/services. A logback.xml
 * would do the same, but the XML parser takes longer to load than a short command runs.
 */
public final class LogConfigurator extends ContextAwareBase implements Configurator {

    /** Called by logback. */
    public LogConfigurator() {}

    @Override
    public ExecutionStatus configure(LoggerContext context) {
        PatternLayout layout = new PatternLayout();
        layout.setContext(context);
        // What other processes send is printed on one line, so that it cannot look like an entry of this log.
        layout.getInstanceConverterMap().put("line", EscapedMessage::new);
        layout.getInstanceConverterMap().put("trace", EscapedThrowable::new);
        layout.setPattern("%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %-5level %logger{0} - %line%n%trace");
        layout.start();
        LayoutWrappingEncoder<ILoggingEvent> encoder = new LayoutWrappingEncoder<>();
        encoder.setContext(context);
        encoder.setLayout(layout);
        encoder.start();
        // Standard error, so that standard output is free for what scripts read.
        ConsoleAppender<ILoggingEvent> appender = new ConsoleAppender<>();
        appender.setContext(context);
        appender.setName("stderr");
        appender.setTarget("System.err");
        appender.setEncoder(encoder);
        appender.start();
        context.getLogger("org.eclipse.jetty").setLevel(Level.WARN);
        // Javalin logs the exceptions that it throws; the code that catches them logs them with more detail.
        context.getLogger("io.javalin").setLevel(Level.OFF);
        context.getLogger(Logger.ROOT_LOGGER_NAME).setLevel(Level.INFO);
        context.getLogger(Logger.ROOT_LOGGER_NAME).addAppender(appender);
        return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
    }
}
