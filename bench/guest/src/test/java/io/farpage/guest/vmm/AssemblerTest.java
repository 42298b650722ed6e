package io.farpage.guest.vmm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The GNU assembler says what the bytes should be. */
final class AssemblerTest {
    private static final Set<Register> BASES =
            Set.of(Register.RAX, Register.RBX, Register.RCX, Register.RDX, Register.RSI, Register.RDI);

    private final Assembler assembler = new Assembler();
    private final StringBuilder listing = new StringBuilder();

    @TempDir
    private Path directory = Path.of("");

    @Test
    void shouldEncodeAllInstructionsAndRegistersAsGnuAssemblerDoes() throws Exception {
        for (Register left : Register.values()) {
            for (Register right : Register.values()) {
                assembler.mov(left, right);
                say("mov", left, right);
                assembler.add(left, right);
                say("add", left, right);
                assembler.sub(left, right);
                say("sub", left, right);
                assembler.and(left, right);
                say("and", left, right);
                assembler.xor(left, right);
                say("xor", left, right);
                assembler.cmp(left, right);
                say("cmp", left, right);
                assembler.imul(left, right);
                say("imul", left, right);
                if (BASES.contains(right)) {
                    assembler.load(left, right);
                    say("mov", left, "[" + right + "]");
                    assembler.store(right, left);
                    say("mov", "[" + right + "]", left);
                }
            }
            assembler.mov(left, 0x8877665544332211L);
            say("movabs", left, "0x8877665544332211");
            assembler.shl(left, 12);
            say("shl", left, "12");
            assembler.shr(left, 33);
            say("shr", left, "33");
            if (left != Register.RAX) { // for which there is a shorter form
                assembler.add(left, 4096);
                say("add", left, "4096");
            }
        }
        assembler.outEax(0x17);
        say("out", "0x17", "eax");
        assembler.hlt();
        listing.append("hlt\\n");
        String source = """
                #include <stdio.h>
                __asm__(".intel_syntax noprefix\\nfirst:\\n%slast:\\n.att_syntax\\n");
                extern const unsigned char first[], last[];
                int main(void) {
                    for (const unsigned char *p = first; p < last; p++) printf("%%02x", *p);
                }
                """.formatted(listing);

        String expected = Compiled.linesOf(directory, source).getFirst();

        assertEquals(expected, HexFormat.of().formatHex(assembler.assemble()));
    }

    @Test
    void shouldRefuseAddressesThatNeedAnotherEncoding() {
        for (Register register : Set.of(Register.RSP, Register.RBP, Register.R12, Register.R13)) {
            assertThrows(IllegalArgumentException.class, () -> assembler.load(Register.RAX, register));
        }
    }

    private void say(String instruction, Object left, Object right) {
        listing.append("%s %s, %s\\n".formatted(instruction, left, right).toLowerCase(Locale.ROOT));
    }
}
