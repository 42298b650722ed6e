package io.farpage.coordinator.client;

import io.farpage.coordinator.model.RebuildStatus;
import io.farpage.coordinator.model.Stamp;
import io.farpage.rest.Json;
import io.farpage.rest.Operation;
import io.farpage.rest.Problem;
import java.net.URI;
import java.net.http.HttpResponse;
import java.util.Locale;
import java.util.Optional;
import tools.jackson.core.JacksonException;

/**
 * Reads the answers of coordinators: what was asked for, a refusal, or the answer of a coordinator that the allegiance
 * does not obey. Thread-safe.
 */
final class Answers {

    private final Addresses addresses;
    private final Allegiance allegiance;

    Answers(Addresses addresses, Allegiance allegiance) {
        this.addresses = addresses;
        this.allegiance = allegiance;
    }

    /** What was asked for. */
    <A> A read(Operation<?, A> operation, Call call, HttpResponse<byte[]> response) throws CoordinatorException {
        requireSuccess(call, response);
        return operation.answerOf(content(call, response, operation.answer().orElseThrow()));
    }

    /** Whatever the content, the answer must be one of success, from a coordinator that is obeyed. */
    void requireSuccess(Call call, HttpResponse<byte[]> response) throws CoordinatorException {
        Optional<Problem> problem = isSuccess(response) ? Optional.empty() : Optional.of(problem(call, response));
        requireObeyed(call, response, problem);
        if (problem.isPresent()) {
            throw new CoordinatorRefusedException(call.operation(), problem.get());
        }
    }

    /**
     * The answer of a coordinator that is being rebuilt, which keeps no cluster yet and so is judged by no allegiance.
     */
    RebuildStatus readRebuild(Call call, HttpResponse<byte[]> response) throws CoordinatorException {
        if (isSuccess(response)) {
            return content(call, response, RebuildStatus.class);
        }
        throw new CoordinatorRefusedException(call.operation(), problem(call, response));
    }

    private static boolean isSuccess(HttpResponse<byte[]> response) {
        return response.statusCode() >= 200 && response.statusCode() < 300;
    }

    private Problem problem(Call call, HttpResponse<byte[]> response) throws CoordinatorUnreachableException {
        String type = response.headers().firstValue("Content-Type").orElse("").toLowerCase(Locale.ROOT);
        if (!type.startsWith(Problem.MEDIA_TYPE)) {
            throw CoordinatorUnreachableException.of(
                    addresses.current(),
                    call,
                    "status %d of type '%s', so the service there is not a coordinator"
                            .formatted(response.statusCode(), type));
        }
        return content(call, response, Problem.class);
    }

    private <T> T content(Call call, HttpResponse<byte[]> response, Class<T> type)
            throws CoordinatorUnreachableException {
        try {
            return Json.LENIENT.readValue(response.body(), type);
        } catch (JacksonException e) {
            throw CoordinatorUnreachableException.of(
                    addresses.current(),
                    call,
                    "the answer is not what a coordinator says: " + e.getOriginalMessage(),
                    e);
        }
    }

    private void requireObeyed(Call call, HttpResponse<byte[]> response, Optional<Problem> problem)
            throws CoordinatorNotObeyedException {
        URI base = addresses.current();
        Optional<String> reason = allegiance.check(Stamp.read(response.headers()::firstValue), problem);
        if (reason.isPresent()) {
            // A follower of another cluster may have named it: the next call goes to a coordinator that was configured.
            addresses.leave(base);
            throw new CoordinatorNotObeyedException(
                    "coordinator at %s is not obeyed (%s): %s".formatted(base, call.operation(), reason.get()));
        }
    }
}
