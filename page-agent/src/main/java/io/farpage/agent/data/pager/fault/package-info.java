/**
 * The way of a page in: a fault, readahead, the READ's completion, installing it under the limit; also for processes
 * that the VMM has forked. Above {@code memory}.
 */
@NullMarked
package io.farpage.agent.data.pager.fault;

import org.jspecify.annotations.NullMarked;
