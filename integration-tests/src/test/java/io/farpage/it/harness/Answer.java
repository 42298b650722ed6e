package io.farpage.it.harness;

import io.farpage.rest.Json;
import io.farpage.rest.Problem;
import java.nio.charset.StandardCharsets;
import tools.jackson.databind.JsonNode;

/** What a service answered. */
@SuppressWarnings("ArrayRecordComponent") // answers are not compared
public record Answer(int status, String contentType, byte[] body) {

    public String text() {
        return new String(body, StandardCharsets.UTF_8);
    }

    public JsonNode json() {
        return Json.LENIENT.readTree(body);
    }

    /** The problem document that this is. Fails if it is none. */
    public Problem problem() {
        if (!contentType.startsWith(Problem.MEDIA_TYPE)) {
            throw new AssertionError("not a problem document: " + this);
        }
        Problem problem = Json.LENIENT.readValue(body, Problem.class);
        if (problem.status() != status) {
            throw new AssertionError("the document says " + problem.status() + ": " + this);
        }
        return problem;
    }

    /** This one, if its status is as expected. */
    public Answer expect(int expected) {
        if (status != expected) {
            throw new AssertionError("expected " + expected + ", got " + this);
        }
        return this;
    }

    @Override
    public String toString() {
        return status + " " + contentType + " " + (body.length > 1000 ? body.length + " bytes" : text());
    }
}
