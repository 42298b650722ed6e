package io.farpage.rest;

import io.javalin.json.JsonMapper;
import java.lang.reflect.Type;

/** Lets Javalin write JSON with Jackson 3; requests are read by {@link Requests}. */
final class JacksonJsonMapper implements JsonMapper {

    @Override
    public String toJsonString(Object value, Type type) {
        return Json.STRICT.writeValueAsString(value);
    }
}
