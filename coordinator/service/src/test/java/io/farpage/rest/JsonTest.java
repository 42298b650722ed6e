package io.farpage.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What is written of a record, and that it is read again. */
class JsonTest {

    record Told(String name, Optional<List<Long>> ids) {
        public boolean isKnown() {
            return ids.isPresent();
        }
    }

    @Test
    void shouldWriteComponentsOfARecordAndNothingElse() {
        Told told = new Told("vm", Optional.of(List.of(5L)));
        assertTrue(told.isKnown());
        String text = Json.STRICT.writeValueAsString(told);
        assertEquals("{\"name\":\"vm\",\"ids\":[5]}", text);
        assertEquals(told, Json.STRICT.readValue(text, Told.class));
        assertEquals("{\"name\":\"vm\"}", Json.STRICT.writeValueAsString(new Told("vm", Optional.empty())));
    }
}
