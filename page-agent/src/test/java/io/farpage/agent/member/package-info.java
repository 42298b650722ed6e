@NullMarked
package io.farpage.agent.member;

import org.jspecify.annotations.NullMarked;
