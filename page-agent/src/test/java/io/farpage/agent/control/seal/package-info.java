@NullMarked
package io.farpage.agent.control.seal;

import org.jspecify.annotations.NullMarked;
