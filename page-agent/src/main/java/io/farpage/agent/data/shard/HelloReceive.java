package io.farpage.agent.data.shard;

/**
 * A receive for the first message of a queue pair, which is always a HELLO.
 *
 * @param index in {@link MessageMemory}
 * @param generation tells it from earlier ones with that index
 */
public record HelloReceive(int index, char generation) {
    long wrId() {
        return WrId.message(WrId.HELLO_RECEIVE, generation, index, 0);
    }
}
