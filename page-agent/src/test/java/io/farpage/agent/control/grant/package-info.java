@NullMarked
package io.farpage.agent.control.grant;

import org.jspecify.annotations.NullMarked;
