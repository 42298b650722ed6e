/**
 * A small private CA for clusters that have none: it makes keys, signing requests and certificates, with Bouncy
 * Castle's X.509 encoders and the JDK's keys and signatures. Its classes are loaded only when a certificate is made.
 */
@NullMarked
package io.farpage.certs;

import org.jspecify.annotations.NullMarked;
