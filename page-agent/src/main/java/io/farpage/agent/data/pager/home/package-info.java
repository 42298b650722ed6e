/**
 * Where the pages of a guest's space live: the homes of each extent, by the space's map, which of them is read from,
 * and one that joins. Above {@code page}.
 */
@NullMarked
package io.farpage.agent.data.pager.home;

import org.jspecify.annotations.NullMarked;
