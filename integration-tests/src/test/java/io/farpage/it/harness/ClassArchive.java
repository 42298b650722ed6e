package io.farpage.it.harness;

import io.farpage.agent.Main;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The JVM's archive of the classes that an agent loads, which takes a third of the CPU time out of a start. It is recorded once in each test
 * run, by an agent without a coordinator. The JVM takes an archive only for the very jars that it was recorded with, and no directories, so
 * there is none where Maven has not packaged the modules.
 */
final class ClassArchive {
    private static final int PATIENCE_SECONDS = 60;

    private ClassArchive() {}

    /**
     * Flags that make a JVM use the archive; empty if there is none.
     *
     * @param directory where the archive goes
     * @param java the command up to and without the class path
     * @param classPath jars, with colons between them
     */
    static List<String> record(Path directory, List<String> java, String classPath) {
        Path archive = directory.resolve("agent.jsa");
        try {
            Path port = Files.createDirectories(directory).resolve("recorded.port");
            List<String> command = new ArrayList<>(java);
            command.addAll(List.of("-XX:ArchiveClassesAtExit=" + archive, "-Xlog:cds=off", "-Xlog:cds+dynamic=off"));
            command.addAll(List.of("-cp", classPath, Main.class.getName(), "run", "--port-file", port.toString()));
            for (String setting : List.of(
                    "node.id=recorded",
                    "coordinator.url=http://127.0.0.1:1",
                    "api.listen=127.0.0.1:0",
                    "api.socket=" + port + ".sock",
                    "pool.exported=2MiB",
                    "pool.staging=2MiB",
                    "pool.hugepages=off")) {
                command.addAll(List.of("--set", setting));
            }
            Process agent = new ProcessBuilder(command)
                    .redirectOutput(directory.resolve("recorded.out").toFile())
                    .redirectError(directory.resolve("recorded.err").toFile())
                    .start();
            Reaper.watch(agent.pid());
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
            while (!Files.exists(port) && agent.isAlive() && System.nanoTime() < deadline) {
                agent.waitFor(20, TimeUnit.MILLISECONDS);
            }
            agent.destroy();
            if (!agent.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                agent.destroyForcibly().waitFor();
            }
            Reaper.forget(agent.pid());
        } catch (IOException e) {
            return List.of();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return List.of();
        }
        archive.toFile().deleteOnExit();
        return Optional.of(archive).filter(Files::exists).stream()
                .flatMap(file -> List.of("-XX:SharedArchiveFile=" + file, "-Xlog:cds=off").stream())
                .toList();
    }
}
