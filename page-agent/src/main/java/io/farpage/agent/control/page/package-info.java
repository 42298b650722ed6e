/**
 * Single pages for people and tools: put, get and delete by space and page number, over the same shards and links that
 * faults are served by.
 */
@NullMarked
package io.farpage.agent.control.page;

import org.jspecify.annotations.NullMarked;
