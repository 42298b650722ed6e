/**
 * The keeper: a process that holds the descriptors of an agent's memory while the agent is started again. It has them
 * for one agent at a time, and hands them on only when the process that had them before has ended. The agent speaks to
 * it over a Unix socket.
 */
@NullMarked
package io.farpage.agent.control.keeper;

import org.jspecify.annotations.NullMarked;
