/** The agent's REST API: health, metrics, transport and link status, and the page tool. */
@NullMarked
package io.farpage.agent.rest;

import org.jspecify.annotations.NullMarked;
