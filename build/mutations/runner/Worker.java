import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * The JVM that runs tests, for one fault after another. What the project compiles is loaded anew for each, the
 * libraries once. It begins with a line {@code ready} on the output. A line on the input is a class path, a tab, and
 * names of test classes. For it the output has a line {@code failed NAME} as soon as a test fails, and at the end
 * {@code done TESTS LEFT}: how many tests passed, and how many threads a failed test has left behind.
 */
final class Worker {
    private static final long SETTLE_MILLIS = 200;

    private static final String LIBRARIES = System.getProperty("java.class.path");

    private final PrintStream out;
    private final Launcher launcher = LauncherFactory.create();

    private Worker(PrintStream out) {
        this.out = out;
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(new PrintStream(OutputStream.nullOutputStream()));
        System.setErr(System.out);
        Worker worker = new Worker(out);
        worker.say("ready");
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] parts = line.split("\t");
                worker.run(parts[0], parts[1].split(" "));
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private void run(String path, String[] tests) throws Exception {
        List<URL> urls = new ArrayList<>();
        for (String entry : path.split(File.pathSeparator)) {
            urls.add(new File(entry).toURI().toURL());
        }
        Set<Thread> before = threads();
        AtomicInteger ran = new AtomicInteger();
        AtomicBoolean failed = new AtomicBoolean();
        Thread current = Thread.currentThread();
        ClassLoader own = current.getContextClassLoader();
        try (URLClassLoader loader = new URLClassLoader(urls.toArray(URL[]::new), own)) {
            current.setContextClassLoader(loader);
            // What a test starts as a process of its own has the fault too.
            System.setProperty("java.class.path", path + File.pathSeparator + LIBRARIES);
            for (String test : tests) {
                if (failed.get()) {
                    break;
                }
                launcher.execute(
                        LauncherDiscoveryRequestBuilder.request()
                                .selectors(selectClass(loader.loadClass(test)))
                                .filters(TagFilter.excludeTags("soak"))
                                .build(),
                        new TestExecutionListener() {
                            @Override
                            public void executionFinished(TestIdentifier identifier, TestExecutionResult result) {
                                if (identifier.isTest()
                                        && result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
                                    ran.incrementAndGet();
                                }
                                if (result.getStatus() == TestExecutionResult.Status.FAILED
                                        && !failed.getAndSet(true)) {
                                    say("failed " + identifier.getDisplayName().replace('\n', ' '));
                                }
                            }
                        });
            }
        } catch (Throwable thrown) { // a fault may be a LinkageError
            if (!failed.getAndSet(true)) {
                say("failed " + String.valueOf(thrown).replace('\n', ' '));
            }
        } finally {
            current.setContextClassLoader(own);
        }
        say("done " + ran + " " + (failed.get() ? leftSince(before) : 0));
    }

    private static int leftSince(Set<Thread> before) throws InterruptedException {
        Set<Thread> left = threads();
        left.removeAll(before);
        for (Thread thread : left) {
            thread.join(SETTLE_MILLIS);
        }
        left.removeIf(thread -> !thread.isAlive());
        return left.size();
    }

    private static Set<Thread> threads() {
        return new HashSet<>(Thread.getAllStackTraces().keySet());
    }

    private void say(String line) {
        out.println(line);
        out.flush();
    }
}
