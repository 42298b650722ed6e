/**
 * A guest's memory as the kernel has it: messages of the userfaultfd, installing pages, protecting them from writes,
 * and faults that wait. Above {@code transfer}.
 */
@NullMarked
package io.farpage.agent.data.pager.memory;

import org.jspecify.annotations.NullMarked;
