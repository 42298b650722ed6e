@NullMarked
package io.farpage.agent.control;

import org.jspecify.annotations.NullMarked;
