package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.agent.Main;
import io.farpage.it.harness.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A userfaultfd of a process that may not use the system call: {@code /dev/userfaultfd} gives it one. */
class UserfaultfdDeviceTest {
    private static final Path DEVICE = Path.of("/dev/userfaultfd");

    @Test
    void shouldOpenTheDeviceWhenTheSystemCallIsNotPermitted() throws IOException {
        assumeTrue(Files.isWritable(DEVICE), DEVICE + " does not exist, or this user may not open it");
        assumeTrue(System.getProperty("user.name").equals("root"), "only root can give up CAP_SYS_PTRACE with setpriv");
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/setpriv")), "setpriv (package util-linux) is missing");
        assumeTrue(
                Files.readString(Path.of("/proc/sys/vm/unprivileged_userfaultfd"))
                        .startsWith("0"),
                "vm.unprivileged_userfaultfd is 1, so the call is permitted to all");
        List<String> command = List.of(
                "setpriv",
                "--bounding-set=-sys_ptrace",
                "--inh-caps=-sys_ptrace",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@" + Path.of(System.getProperty("farpage.root"), "bin", "java-flags"),
                "-cp",
                System.getProperty("java.class.path"),
                Main.class.getName(),
                "doctor",
                "--set",
                "transport.mode=tcp");
        try (ChildJvm doctor = ChildJvm.launch("doctor", command, Map.of(), Path.of(""))) {
            doctor.awaitEnd();
            String line = doctor.out()
                    .lines()
                    .filter(text -> text.contains("userfaultfd"))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError(doctor.out() + doctor.err()));
            assertTrue(line.contains("can be opened"), line);
        }
    }
}
