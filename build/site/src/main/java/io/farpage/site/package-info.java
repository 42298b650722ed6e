/**
 * Makes a static site of the pages in docs/: HTML with one style sheet, without scripts and without anything from
 * elsewhere. The order and the groups of pages are those of docs/README.md.
 */
@NullMarked
package io.farpage.site;

import org.jspecify.annotations.NullMarked;
