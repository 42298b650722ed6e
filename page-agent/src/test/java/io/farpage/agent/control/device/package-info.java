@NullMarked
package io.farpage.agent.control.device;

import org.jspecify.annotations.NullMarked;
