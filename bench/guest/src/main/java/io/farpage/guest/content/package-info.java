/**
 * What a benchmark page holds: a function of a seed and the page's number, so that whoever fetches a page can check every
 * byte of it without having seen it before. The C baseline has the same function, and a test holds the two equal.
 */
@NullMarked
package io.farpage.guest.content;

import org.jspecify.annotations.NullMarked;
