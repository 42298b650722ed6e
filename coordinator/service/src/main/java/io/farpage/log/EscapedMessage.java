package io.farpage.log;

import ch.qos.logback.classic.pattern.MessageConverter;
import ch.qos.logback.classic.spi.ILoggingEvent;

/**
 * Writes the message of a log event as one printable line: text of another process cannot begin a line that looks like
 * a log entry.
 */
public final class EscapedMessage extends MessageConverter {
    @Override
    public String convert(ILoggingEvent event) {
        return Printable.of(super.convert(event));
    }
}
