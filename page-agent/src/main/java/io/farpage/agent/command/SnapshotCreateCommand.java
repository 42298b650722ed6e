package io.farpage.agent.command;

import io.farpage.agent.client.AgentTarget;
import io.farpage.agent.control.guest.SnapshotName;
import io.farpage.agent.control.guest.SnapshotStatus;
import io.farpage.agent.rest.ArchiveOperations;
import io.farpage.agent.rest.GuestOperations;
import io.farpage.agent.rest.PageOperations;
import io.farpage.log.Printable;
import io.farpage.progress.ProgressOption;
import io.farpage.rest.Json;
import io.farpage.rest.Operation.Target;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code page-agent snapshot create}: a snapshot of a guest that runs, through the REST API of its agent. */
@Command(
        name = "create",
        mixinStandardHelpOptions = true,
        description = {
            "Make a snapshot of a guest that runs. Its VMM has to be paused until its memory is frozen, which takes"
                    + " milliseconds: by --pause and --resume, or by you, before and after.",
            "The guest goes on in a clone of the snapshot, under the name of its space. Exits with 1 if there is no"
                    + " snapshot; the guest goes on as before."
        })
final class SnapshotCreateCommand implements Callable<Integer> {
    private static final int REFUSED = 1;
    private static final int PAUSE_MILLIS = 20;
    private static final double MIB = 1 << 20;

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @ArgGroup(exclusive = false, multiplicity = "1")
    private final AgentTarget target = new AgentTarget();

    @Option(names = "--name", required = true, description = "Name of the snapshot")
    private String name = "";

    @Option(
            names = "--pause",
            paramLabel = "COMMAND",
            description = "A shell command that pauses the VMM, such as 'virsh suspend vm'")
    private @Nullable String pause;

    @Option(
            names = "--resume",
            paramLabel = "COMMAND",
            description = "A shell command that resumes the VMM, whether the memory was frozen or not")
    private @Nullable String resume;

    @Option(
            names = "--state",
            paramLabel = "FILE",
            description = "A file to keep with the snapshot, in which the command that pauses the VMM, or the one that"
                    + " resumes it, has the VMM leave its registers and devices")
    private @Nullable Path state;

    @Mixin
    private final ProgressOption progressOption = new ProgressOption();

    @Override
    public Integer call() throws InterruptedException, IOException {
        if (pause != null) {
            prepare();
        }
        if (pause != null && run(pause) != 0) {
            spec.commandLine().getErr().println("page-agent: the command that pauses the VMM has failed: " + pause);
            return REFUSED;
        }
        Optional<SnapshotStatus> status;
        try {
            status = send(
                    GuestOperations.SNAPSHOT.at(target.name()), Json.STRICT.writeValueAsBytes(new SnapshotName(name)));
        } finally {
            if (resume != null && run(resume) != 0) {
                spec.commandLine()
                        .getErr()
                        .println("page-agent: the command that resumes the VMM has failed: " + resume);
            }
        }
        status.ifPresent(now -> say("frozen in %.1f ms, the VMM may run; %.1f MiB are being written home"
                .formatted(now.freezeMicros() / 1e3, now.frozenBytes() / MIB)));
        while (status.isPresent() && !status.get().hasEnded()) {
            Thread.sleep(PAUSE_MILLIS);
            status = send(GuestOperations.SNAPSHOT_STATUS.at(target.name()), new byte[0]);
        }
        if (status.isEmpty()) {
            return REFUSED;
        }
        if (status.get().state().equals(SnapshotStatus.FAILED)) {
            spec.commandLine()
                    .getErr()
                    .println("page-agent: there is no snapshot, and the guest goes on as before: "
                            + Printable.of(status.get().detail()));
            return REFUSED;
        }
        say("snapshot '%s' is made, %d ms after the pause"
                .formatted(name, status.get().millis()));
        return state == null ? 0 : keep(state);
    }

    /** Shortens the pause. What refuses this refuses the snapshot, too; an earlier agent does not know it. */
    private void prepare() throws InterruptedException {
        AgentTarget.Caller caller = target.caller();
        AgentTarget.Caller quiet =
                new AgentTarget.Caller(caller.agent(), caller.security(), new PrintWriter(Writer.nullWriter()));
        byte[] body = Json.STRICT.writeValueAsBytes(new SnapshotName(name));
        var _ = AgentTarget.send(quiet, GuestOperations.PREPARE_SNAPSHOT.at(target.name()), AgentTarget.JSON, body);
    }

    private Optional<SnapshotStatus> send(Target<?, ?> to, byte[] body) throws InterruptedException {
        return Optional.ofNullable(target.send(to, AgentTarget.JSON, body))
                .map(answer -> Json.LENIENT.readValue(answer, SnapshotStatus.class));
    }

    private int keep(Path file) throws InterruptedException {
        return new FileTransfer(target, progressOption, spec.commandLine().getErr())
                .send(ArchiveOperations.KEEP_STATE.at(name), "keep the state of", PageOperations.BYTES, file);
    }

    private void say(String line) {
        spec.commandLine().getOut().println(line);
        spec.commandLine().getOut().flush();
    }

    private static int run(String command) throws IOException, InterruptedException {
        return new ProcessBuilder(List.of("sh", "-c", command))
                .inheritIO()
                .start()
                .waitFor();
    }
}
