/**
 * Pages that their home cannot read or alter unnoticed: a page is sealed with AES-256-GCM before it is written to its
 * home and opened when it has been fetched. Tag and version of each page stay in this process. On a shard's thread
 * nothing here allocates, locks or waits.
 */
@NullMarked
package io.farpage.agent.data.seal;

import org.jspecify.annotations.NullMarked;
