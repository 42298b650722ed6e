@NullMarked
package io.farpage.agent.data.shard;

import org.jspecify.annotations.NullMarked;
