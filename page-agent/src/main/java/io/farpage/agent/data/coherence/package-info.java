/**
 * Coherent spaces: several nodes use one space at once, each as a member. The home of an extent decides which members
 * may have each of its pages, and members and homes talk by messages.
 */
@NullMarked
package io.farpage.agent.data.coherence;

import org.jspecify.annotations.NullMarked;
