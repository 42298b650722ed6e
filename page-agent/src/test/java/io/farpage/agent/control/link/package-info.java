@NullMarked
package io.farpage.agent.control.link;

import org.jspecify.annotations.NullMarked;
