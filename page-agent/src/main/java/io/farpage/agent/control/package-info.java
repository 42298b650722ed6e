/**
 * The control plane: what the agent agrees on with the coordinator, with its peers and with VMMs. It runs on threads
 * that may wait, makes what the data plane works with, and hands it over in commands.
 */
@NullMarked
package io.farpage.agent.control;

import org.jspecify.annotations.NullMarked;
