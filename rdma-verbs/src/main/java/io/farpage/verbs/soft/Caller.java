package io.farpage.verbs.soft;

import io.farpage.linux.crypto.TlsStream;
import java.net.InetAddress;
import java.util.Optional;

/**
 * A peer that has connected and has proven itself, if it had to.
 *
 * @param hello what it said
 * @param from where the connection comes from
 * @param fd its connection
 * @param tls the server's side of an encrypted connection, whose handshake has not begun; empty if the connection is
 *     plain
 */
record Caller(Hello hello, InetAddress from, int fd, Optional<TlsStream> tls) {}
