@NullMarked
package io.farpage.agent.data.seal;

import org.jspecify.annotations.NullMarked;
