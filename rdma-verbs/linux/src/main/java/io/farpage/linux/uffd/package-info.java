/**
 * userfaultfd(2), memfd_create(2) and what is done with them, through the C library: the package knows no spaces and no
 * fetches.
 */
@NullMarked
package io.farpage.linux.uffd;

import org.jspecify.annotations.NullMarked;
