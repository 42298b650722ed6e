/**
 * Checks everything of a host that paging over RDMA depends on, before anything is started, and says of each thing
 * whether it is right, and if not which command mends it. Files of {@code /sys}, {@code /proc} and {@code /dev} are
 * read below a {@link Tree}, so that other machines' can be looked at too; what cannot be read from a file is tried for
 * real. Nothing is changed.
 */
@NullMarked
package io.farpage.agent.doctor;

import org.jspecify.annotations.NullMarked;
