/**
 * Authenticated encryption of memory through OpenSSL's libcrypto: the library as it was found, and AES-256-GCM on raw
 * addresses.
 */
@NullMarked
package io.farpage.linux.crypto;

import org.jspecify.annotations.NullMarked;
