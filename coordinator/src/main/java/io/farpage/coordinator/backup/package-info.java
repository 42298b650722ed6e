/**
 * Backups: all rows of a coordinator's store in one file that tells whether it is whole, and the restoration of that
 * file into an empty store of either kind. The identity of the cluster goes with the rows, so agents obey the
 * coordinator that is started on the restored store if it has all that they have seen.
 */
@org.jspecify.annotations.NullMarked
package io.farpage.coordinator.backup;
