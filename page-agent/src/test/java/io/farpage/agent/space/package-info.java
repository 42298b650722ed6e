@NullMarked
package io.farpage.agent.space;

import org.jspecify.annotations.NullMarked;
