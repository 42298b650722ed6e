@NullMarked
package io.farpage.agent.control.mount;

import org.jspecify.annotations.NullMarked;
