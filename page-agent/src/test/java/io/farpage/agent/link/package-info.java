@NullMarked
package io.farpage.agent.link;

import org.jspecify.annotations.NullMarked;
