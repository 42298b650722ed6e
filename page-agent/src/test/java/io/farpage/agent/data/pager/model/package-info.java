/**
 * The pager, run step by step: its real code between a simulated kernel and a simulated network, with what a guest may
 * find in its memory written down beside it and checked after every step.
 */
@NullMarked
package io.farpage.agent.data.pager.model;

import org.jspecify.annotations.NullMarked;
