/**
 * What a benchmark page holds: a function of a seed and the page's number, so that a fetched page can be checked in
 * every byte of it without having seen it before. The C baseline has the same function, and a test holds the two equal.
 */
@NullMarked
package io.farpage.guest.content;

import org.jspecify.annotations.NullMarked;
