@NullMarked
package io.farpage.agent.shard;

import org.jspecify.annotations.NullMarked;
