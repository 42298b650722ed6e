package io.farpage.verbs.soft;

import java.util.Optional;

/**
 * The queues that a queue pair uses.
 *
 * @param sends where its sends complete
 * @param receives where its receives complete
 * @param shared where its receives come from, if they are not its own
 */
record QpQueues(CompletionSink sends, CompletionSink receives, Optional<ReceiveQueue> shared) {}
