package io.farpage.pool.hugepages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.pool.ChildJvm;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HugepageReservationChildTest {
    @Test
    void shouldNameTheCommandForRootWhenReservationIsNotPermitted() throws Exception {
        List<String> lines = ChildJvm.run(ChildJvm.NOBODY, AsNobody.class);
        String last = lines.getLast();
        assertTrue(
                last.matches("NOT_PERMITTED cannot reserve \\d+ hugepages of 2 MiB \\(permission denied\\); "
                        + "have root run: echo \\d+ > /proc/sys/vm/nr_hugepages"),
                lines::toString);
    }

    @Test
    void shouldPutPagesBackWhenTheJvmEndsWithoutClosing(@TempDir Path machine) throws Exception {
        Path folder = Files.createDirectories(machine.resolve("hugepages-2048kB"));
        for (String count : List.of("free", "resv", "surplus", "nr_overcommit")) {
            Files.writeString(folder.resolve(count + "_hugepages"), "0\n");
        }
        Files.writeString(folder.resolve("nr_hugepages"), "5\n");
        List<String> lines = ChildJvm.run(List.of(), EndsWithoutClosing.class, machine.toString());
        assertEquals("RAISED 12", lines.getLast());
        assertEquals("5", Files.readString(folder.resolve("nr_hugepages")).strip());
    }

    static final class AsNobody {
        private AsNobody() {}

        public static void main(String[] args) {
            // Few, lest a machine where this is permitted after all be filled up.
            long more = 4
                    + Hugepages.ofThisMachine()
                            .counts(HugepageSize.TWO_MIB)
                            .map(HugepageCounts::available)
                            .orElse(0L);
            try (HugepageReservation reservation = HugepageReservation.atLeast(HugepageSize.TWO_MIB, more)) {
                System.out.println(reservation.outcome() + " " + reservation.description());
            }
        }
    }

    static final class EndsWithoutClosing {
        private EndsWithoutClosing() {}

        public static void main(String[] args) throws Exception {
            Path machine = Path.of(args[0]);
            HugepageReservation reservation = HugepageReservation.reserve(
                    new Hugepages(machine, machine.resolve("meminfo")), HugepageSize.TWO_MIB, 7, false);
            System.out.println(reservation.outcome() + " "
                    + Files.readString(machine.resolve("hugepages-2048kB/nr_hugepages"))
                            .strip());
            System.exit(0);
        }
    }
}
