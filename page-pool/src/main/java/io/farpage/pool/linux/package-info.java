/**
 * The few Linux calls and files that the pool is made with, errno and limits as values. No policy lives here.
 */
@NullMarked
package io.farpage.pool.linux;

import org.jspecify.annotations.NullMarked;
