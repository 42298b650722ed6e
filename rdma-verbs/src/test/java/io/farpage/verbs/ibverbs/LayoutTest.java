package io.farpage.verbs.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.Mtu;
import io.farpage.verbs.PortState;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WcOpcode;
import io.farpage.verbs.WcStatus;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Asks a C compiler about every offset, size and enumerator that the provider relies on. */
final class LayoutTest {
    private static final List<Class<?>> DECLARING = List.of(Structs.class, QpAttr.class, WorkRequests.class);

    @TempDir
    private Path directory = Path.of("");

    @Test
    void shouldHaveTheOffsetsOfLinuxKvmHeader() throws Exception {
        assumeTrue(
                CCompiler.hasHeader(directory, "infiniband/verbs.h"),
                "there is no <infiniband/verbs.h> (libibverbs-dev) or no C compiler");
        Map<String, Long> expected = new LinkedHashMap<>();
        for (Class<?> declaring : DECLARING) {
            Stream.concat(Stream.of(declaring), Stream.of(declaring.getDeclaredClasses()))
                    .forEach(type -> addConstants(type, expected));
        }
        addEnums(expected);
        assertTrue(expected.size() > 150, "the annotations are gone: only " + expected.size() + " found");

        Path program = CCompiler.compile(directory, "layout", source(expected));
        assertEquals(0, CCompiler.run(directory, List.of(program.toString())));
        Map<String, Long> actual = new LinkedHashMap<>();
        for (String line : Files.readAllLines(directory.resolve("output"))) {
            int split = line.lastIndexOf(' ');
            actual.put(line.substring(0, split), Long.parseLong(line.substring(split + 1)));
        }
        assertEquals(expected, actual);
    }

    /** C expressions for the constants of one class, with the values that Java has. */
    private static void addConstants(Class<?> type, Map<String, Long> into) {
        C struct = type.getAnnotation(C.class);
        for (Field field : type.getDeclaredFields()) {
            C member = field.getAnnotation(C.class);
            if (struct == null || member == null) {
                continue;
            }
            String expression = switch (member.value()) {
                case "sizeof" -> "sizeof(struct " + struct.value() + ")";
                case String value when struct.value().equals("enum") -> value;
                case String value -> "offsetof(struct " + struct.value() + ", " + value + ")";
            };
            try {
                into.put(expression, field.getLong(null));
            } catch (IllegalAccessException e) {
                throw new AssertionError(e);
            }
        }
    }

    /** The enumerators that the API's own types stand for. */
    private static void addEnums(Map<String, Long> into) {
        for (WcStatus status : WcStatus.values()) {
            into.put("IBV_WC_" + status, (long) status.code());
        }
        for (WcOpcode opcode : WcOpcode.values()) {
            into.put("IBV_WC_" + opcode, (long) opcode.code());
        }
        for (AccessFlag flag : AccessFlag.values()) {
            into.put("IBV_ACCESS_" + flag, (long) flag.bit());
        }
        for (Mtu mtu : Mtu.values()) {
            into.put("IBV_" + mtu.name(), (long) mtu.code());
        }
        for (PortState state : PortState.values()) {
            into.put("IBV_PORT_" + state, (long) state.ordinal());
        }
        for (AsyncEvent.Type type : AsyncEvent.Type.values()) {
            if (type == AsyncEvent.Type.UNKNOWN) {
                continue;
            }
            into.put("IBV_EVENT_" + type.name(), (long) type.ordinal());
        }
        into.put("IBV_SEND_FENCE", (long) SendFlag.FENCE);
        into.put("IBV_SEND_SIGNALED", (long) SendFlag.SIGNALED);
        into.put("IBV_SEND_SOLICITED", (long) SendFlag.SOLICITED);
        into.put("IBV_SEND_INLINE", (long) SendFlag.INLINE);
        into.put("IBV_TRANSPORT_IB", (long) Structs.Device.TRANSPORT_IB);
        into.put("IBV_TRANSPORT_IWARP", (long) Structs.Device.TRANSPORT_IWARP);
        into.put("IBV_QPF_GRH_REQUIRED", (long) Structs.PortAttr.GRH_REQUIRED);
        into.put("IBV_GID_TYPE_IB", (long) GidTable.TYPE_IB);
        into.put("IBV_GID_TYPE_ROCE_V1", (long) GidTable.TYPE_ROCE_V1);
        into.put("IBV_GID_TYPE_ROCE_V2", (long) GidTable.TYPE_ROCE_V2);
    }

    private static String source(Map<String, Long> expressions) {
        StringBuilder source = new StringBuilder(
                "#include <infiniband/verbs.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n");
        expressions
                .keySet()
                .forEach(expression ->
                        source.append("  printf(\"%s %%ld\\n\", (long)(%s));\n".formatted(expression, expression)));
        return source.append("  return 0;\n}\n").toString();
    }
}
