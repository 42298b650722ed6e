/**
 * READs and WRITEs of runs of pages between homes and staging frames. Above {@code home}.
 */
@NullMarked
package io.farpage.agent.data.pager.transfer;

import org.jspecify.annotations.NullMarked;
