@NullMarked
package io.farpage.agent.control.space;

import org.jspecify.annotations.NullMarked;
