package io.farpage.it.harness;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.rest.Json;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;

/** A headless Chromium with one page, driven over the DevTools protocol. One thread. */
public final class Chromium implements AutoCloseable {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final List<Path> PLACES =
            List.of(Path.of("/usr/bin/chromium"), Path.of("/usr/bin/chromium-browser"));
    private static final Pattern LISTENING = Pattern.compile("DevTools listening on (ws://\\S+)");

    private final ChildJvm process;
    private final Path profile;
    private final HttpClient client = HttpClient.newHttpClient();
    private final WebSocket socket;
    private final String session;
    private final AtomicInteger ids = new AtomicInteger();
    private final Map<Integer, CompletableFuture<JsonNode>> answers = new ConcurrentHashMap<>();
    private final List<String> complaints = new CopyOnWriteArrayList<>();

    /** Starts it with an empty page; skips the test where it is not installed. */
    public static Chromium start() {
        Path program = PLACES.stream().filter(Files::isExecutable).findFirst().orElse(PLACES.getFirst());
        assumeTrue(Files.isExecutable(program), program + " is missing; install Debian's chromium");
        ChildJvm.refuseInQuickTests("chromium");
        return new Chromium(program);
    }

    private Chromium(Path program) {
        try {
            profile = Files.createTempDirectory("farpage-chromium");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        process = ChildJvm.launch(
                "chromium",
                List.of(
                        program.toString(),
                        "--headless",
                        "--no-sandbox",
                        "--disable-gpu",
                        "--hide-scrollbars",
                        "--disable-quic",
                        "--no-first-run",
                        "--disable-background-networking",
                        "--disable-component-update",
                        "--disable-sync",
                        "--disable-dev-shm-usage",
                        "--remote-debugging-port=0",
                        "--window-size=1280,900",
                        "--user-data-dir=" + profile,
                        "about:blank"),
                Map.of("HOME", profile.toString()),
                Path.of(""));
        Matcher listening =
                await("Chromium listens", TIMEOUT).until(() -> LISTENING.matcher(process.err()), Matcher::find);
        socket = client.newWebSocketBuilder()
                .connectTimeout(TIMEOUT)
                .buildAsync(URI.create(listening.group(1)), new Messages())
                .join();
        String target = send("", "Target.createTarget", Map.of("url", "about:blank"))
                .get("targetId")
                .asString();
        session = send("", "Target.attachToTarget", Map.of("targetId", target, "flatten", true))
                .get("sessionId")
                .asString();
        for (String domain : List.of("Page", "Runtime", "Log")) {
            call(domain + ".enable", Map.of());
        }
    }

    /** Puts the pieces of messages together, and gives each to the call that it answers. */
    private final class Messages implements WebSocket.Listener {
        private final StringBuilder text = new StringBuilder();

        @Override
        public CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
            text.append(data);
            if (last) {
                came(Json.LENIENT.readTree(text.toString()));
                text.setLength(0);
            }
            from.request(1);
            return CompletableFuture.completedStage(null);
        }
    }

    private void came(JsonNode message) {
        if (message.has("id")) {
            Optional.ofNullable(answers.remove(message.get("id").asInt())).ifPresent(call -> call.complete(message));
            return;
        }
        JsonNode of = message.path("params");
        switch (message.path("method").asString("")) {
            case "Runtime.exceptionThrown" ->
                complaints.add(of.get("exceptionDetails").toString());
            case "Runtime.consoleAPICalled" -> {
                if (List.of("error", "warning", "assert")
                        .contains(of.get("type").asString())) {
                    complaints.add(of.get("args").toString());
                }
            }
            case "Log.entryAdded" -> complaints.add(of.get("entry").toString());
            default -> {}
        }
    }

    private JsonNode send(String inSession, String method, Map<String, ?> parameters) {
        int id = ids.incrementAndGet();
        CompletableFuture<JsonNode> answer = new CompletableFuture<>();
        answers.put(id, answer);
        Map<String, Object> message = new java.util.HashMap<>(Map.of("id", id, "method", method, "params", parameters));
        if (!inSession.isEmpty()) {
            message.put("sessionId", inSession);
        }
        socket.sendText(Json.LENIENT.writeValueAsString(message), true).join();
        try {
            JsonNode came = Deadlines.get("the answer to " + method, TIMEOUT, answer);
            if (came.has("error")) {
                throw new AssertionError(method + ": " + came.get("error"));
            }
            return came.get("result");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        } catch (ExecutionException e) {
            throw new AssertionError(method + " was not answered", e);
        }
    }

    /** Calls a method of the protocol. */
    public JsonNode call(String method, Map<String, ?> parameters) {
        return send(session, method, parameters);
    }

    /** Opens an address; {@link #complaints} begin anew. */
    public void open(URI address) {
        complaints.clear();
        call("Page.navigate", Map.of("url", address.toString()));
    }

    /** What an expression of JavaScript gives, a promise's value if it gives one. */
    public JsonNode evaluate(String expression) {
        JsonNode answer =
                call("Runtime.evaluate", Map.of("expression", expression, "awaitPromise", true, "returnByValue", true));
        if (answer.has("exceptionDetails")) {
            throw new AssertionError(expression + ": " + answer.get("exceptionDetails"));
        }
        return answer.get("result").path("value");
    }

    /** The text of the first element that a selector finds; empty if none is found. */
    public String text(String selector) {
        return evaluate("document.querySelector('%s')?.textContent ?? ''".formatted(selector))
                .asString();
    }

    /** Waits until an expression holds. */
    public void awaitTrue(String expression, Duration atMost) {
        await(expression, atMost)
                .pollInterval(Duration.ofMillis(50))
                .until(() -> evaluate("!!(" + expression + ")").asBoolean());
    }

    /** Presses a key. */
    public void press(String key) {
        call(
                "Input.dispatchKeyEvent",
                Map.of(
                        "type",
                        "keyDown",
                        "key",
                        key,
                        "code",
                        key,
                        "windowsVirtualKeyCode",
                        key.equals("Tab") ? 9 : 13));
        call(
                "Input.dispatchKeyEvent",
                Map.of("type", "keyUp", "key", key, "code", key, "windowsVirtualKeyCode", key.equals("Tab") ? 9 : 13));
    }

    /** Shows the page in {@code light} or {@code dark}. */
    public void prefer(String scheme) {
        call(
                "Emulation.setEmulatedMedia",
                Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", scheme))));
    }

    /** Sets the size of the window, in CSS pixels. */
    public void resize(int width, int height) {
        call(
                "Emulation.setDeviceMetricsOverride",
                Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", false));
    }

    /** A picture of the whole page, as PNG. */
    public byte[] picture() {
        return Base64.getDecoder()
                .decode(call("Page.captureScreenshot", Map.of("captureBeyondViewport", true))
                        .get("data")
                        .asString());
    }

    /**
     * Errors and warnings of the console, violations of the content security policy, and exceptions, since the page was
     * opened.
     */
    public List<String> complaints() {
        return new ArrayList<>(complaints);
    }

    @Override
    public void close() {
        socket.abort();
        client.shutdownNow();
        List<ProcessHandle> children = process.descendants();
        process.terminate();
        process.awaitEnd();
        children.forEach(ProcessHandle::destroyForcibly); // they outlive it for a moment, and write to the profile
        await("Chromium's children end", TIMEOUT).until(() -> children.stream().noneMatch(ProcessHandle::isAlive));
        Directories.delete(profile);
    }
}
