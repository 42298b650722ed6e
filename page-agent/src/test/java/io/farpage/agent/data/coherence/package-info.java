/** Tests of coherent spaces: a model of members and homes under random schedules, and what it does not reach. */
@NullMarked
package io.farpage.agent.data.coherence;

import org.jspecify.annotations.NullMarked;
