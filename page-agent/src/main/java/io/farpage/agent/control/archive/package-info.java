/**
 * Snapshots in files: a ZIP archive with the memory and the state of the VMM, to and from a snapshot of the cluster.
 */
@NullMarked
package io.farpage.agent.control.archive;

import org.jspecify.annotations.NullMarked;
