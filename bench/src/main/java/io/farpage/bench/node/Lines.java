package io.farpage.bench.node;

import java.util.Optional;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/** Settings, orders and answers as lines of text. */
public final class Lines {
    private static final JsonMapper MAPPER = new JsonMapper();

    private Lines() {}

    /** One line, without its end. */
    public static String of(NodeCommand order) {
        return MAPPER.writerFor(NodeCommand.class).writeValueAsString(order);
    }

    /** One line, without its end. */
    public static String of(Answer answer) {
        return MAPPER.writerFor(Answer.class).writeValueAsString(answer);
    }

    /** One line, without its end. */
    public static String of(NodeSettings settings) {
        return MAPPER.writeValueAsString(settings);
    }

    /** Empty if the line does not hold settings. */
    public static Optional<NodeSettings> settings(String line) {
        return read(line, NodeSettings.class);
    }

    /** Empty if the line is not an order. */
    public static Optional<NodeCommand> order(String line) {
        return read(line, NodeCommand.class);
    }

    /** Empty if the line is not an answer. */
    public static Optional<Answer> answer(String line) {
        return read(line, Answer.class);
    }

    private static <T> Optional<T> read(String line, Class<T> type) {
        try {
            return Optional.of(MAPPER.readValue(line, type));
        } catch (JacksonException notOne) {
            return Optional.empty();
        }
    }
}
