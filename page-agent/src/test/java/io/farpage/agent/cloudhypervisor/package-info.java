/** Where RAM is in a space. */
@NullMarked
package io.farpage.agent.cloudhypervisor;

import org.jspecify.annotations.NullMarked;
