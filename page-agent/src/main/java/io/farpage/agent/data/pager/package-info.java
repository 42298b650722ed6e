/**
 * The fault engine: one {@link io.farpage.agent.data.pager.Pager} for each guest reads the page faults of its VMM from
 * a userfaultfd, fetches pages from their homes and installs them, and keeps what is resident under a limit by writing
 * pages back. It is a source of transfers on a shard's thread, which owns all state of this package and of those below
 * it: {@code page}, {@code home}, {@code transfer}, {@code memory}, {@code fault}, {@code evict} and {@code repair}.
 * Each uses only those before it.
 */
@NullMarked
package io.farpage.agent.data.pager;

import org.jspecify.annotations.NullMarked;
