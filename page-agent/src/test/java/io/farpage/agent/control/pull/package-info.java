@NullMarked
package io.farpage.agent.control.pull;

import org.jspecify.annotations.NullMarked;
