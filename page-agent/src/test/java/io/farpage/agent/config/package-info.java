@NullMarked
package io.farpage.agent.config;

import org.jspecify.annotations.NullMarked;
