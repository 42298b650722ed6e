/**
 * Encrypted spaces as the control plane has them: where keys come from, what is kept of a space between two
 * attachments, and whether that belongs to the pages as they are. No key leaves this package except for the shard's
 * ciphers.
 */
@NullMarked
package io.farpage.agent.control.seal;

import org.jspecify.annotations.NullMarked;
