/**
 * The way of a page out: choosing it, protecting it, writing it to its homes, punching it out of the memory file; and
 * writing everything back at the end. Above {@code fault}.
 */
@NullMarked
package io.farpage.agent.data.pager.evict;

import org.jspecify.annotations.NullMarked;
