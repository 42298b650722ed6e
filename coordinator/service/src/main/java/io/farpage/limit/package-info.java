/**
 * Rate limits of a service: token buckets for each identity and each address, and pauses for addresses whose
 * credentials fail. The tables are bounded, so that a flood of addresses takes no more memory than one address.
 */
@NullMarked
package io.farpage.limit;

import org.jspecify.annotations.NullMarked;
