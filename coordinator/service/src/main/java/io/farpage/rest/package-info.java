/**
 * What farpage's HTTP services share. An {@link io.farpage.rest.Operation} is a call as server and clients know it. The
 * server is a Javalin application on virtual threads that speaks strict JSON, answers
 * every error with a problem document (RFC 9457), and has {@code /health}, {@code /metrics} and {@code /openapi.json}.
 */
@NullMarked
package io.farpage.rest;

import org.jspecify.annotations.NullMarked;
