package io.farpage.agent.control.member;

import io.farpage.coordinator.model.Hosted;
import io.farpage.rest.Json;
import java.util.List;
import java.util.Optional;
import tools.jackson.databind.node.ObjectNode;

/**
 * What a home leaves for its successor. As JSON it is the document with one more field, so an agent of an earlier build
 * reads it, too.
 *
 * @param hosted the document that was applied last
 * @param deleted ids of the spaces that were deleted last and whose ranges were zeroed
 */
public record KeptHosting(Hosted hosted, List<Long> deleted) {

    /** What an agent begins with that has no predecessor. */
    public static final KeptHosting NOTHING = new KeptHosting(Hosted.NOTHING, List.of());

    private record Deleted(Optional<List<Long>> deleted) {}

    /** Copies the list. */
    public KeptHosting {
        deleted = List.copyOf(deleted);
    }

    /** What {@link #json} has written. */
    public static KeptHosting parse(String text) {
        return new KeptHosting(
                Json.LENIENT.readValue(text, Hosted.class),
                Json.LENIENT.readValue(text, Deleted.class).deleted().orElse(List.of()));
    }

    /** As a text. */
    public String json() {
        ObjectNode both = Json.STRICT.valueToTree(hosted);
        both.set("deleted", Json.STRICT.valueToTree(deleted));
        return Json.STRICT.writeValueAsString(both);
    }
}
