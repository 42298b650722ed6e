@NullMarked
package io.farpage.agent.control.keeper;

import org.jspecify.annotations.NullMarked;
