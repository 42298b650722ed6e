/**
 * OpenTelemetry traces: spans of requests between programs and of what programs do by themselves, sent to a collector
 * as OTLP over HTTP. A process without {@code trace.otlp.endpoint} has no tracer, and all that this costs it is the
 * read of a field. No request waits for a collector.
 */
@NullMarked
package io.farpage.trace;

import org.jspecify.annotations.NullMarked;
