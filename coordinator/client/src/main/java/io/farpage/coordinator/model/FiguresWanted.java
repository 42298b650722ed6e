package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * What the next report of figures is to have.
 *
 * @param maps ids of spaces whose {@link PageMap} is looked at
 * @param directories whether it has {@link DirectoryFigures}, too; a coordinator of an earlier release does not know
 *     them
 */
public record FiguresWanted(@JsonProperty(required = true) List<Long> maps, boolean directories) {
    /** Copies the list. */
    public FiguresWanted {
        maps = List.copyOf(maps);
    }
}
