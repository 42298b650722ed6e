/**
 * TLS as farpage uses it: PEM files of a certificate, its key and the CAs that are trusted, read again when they
 * change, and the SSL contexts of servers and clients that are made of them. Protocol and ciphers are the JDK's; only
 * TLS 1.3 is spoken.
 */
@NullMarked
package io.farpage.tls;

import org.jspecify.annotations.NullMarked;
