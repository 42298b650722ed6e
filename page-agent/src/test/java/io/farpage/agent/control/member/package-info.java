@NullMarked
package io.farpage.agent.control.member;

import org.jspecify.annotations.NullMarked;
