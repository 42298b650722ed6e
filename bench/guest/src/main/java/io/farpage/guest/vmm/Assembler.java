package io.farpage.guest.vmm;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalInt;

/**
 * Writes machine code: the few instructions of x86-64 that the guest needs, all on 64 bits, destination first as in the
 * manual (Intel SDM volume 2). Jumps are relative, so the code runs at any address.
 */
final class Assembler {
    /** A place in the code, to be jumped to. */
    static final class Label {
        private OptionalInt position = OptionalInt.empty();
    }

    /** Conditions of a jump, with their number in the opcode. */
    enum Condition {
        BELOW(0x2),
        ABOVE_OR_EQUAL(0x3),
        EQUAL(0x4),
        NOT_EQUAL(0x5);

        private final int code;

        Condition(int code) {
            this.code = code;
        }
    }

    private static final int REX_W = 0x48;
    private static final int DIRECT = 0b11;
    private static final int INDIRECT = 0b00;
    private static final int JUMP_BYTES = 4;

    private final ByteArrayOutputStream code = new ByteArrayOutputStream();
    private final Map<Integer, Label> jumps = new LinkedHashMap<>();

    /** Says that a label is here. */
    void bind(Label label) {
        label.position = OptionalInt.of(code.size());
    }

    void mov(Register to, long value) {
        emit(REX_W | to.high1(), 0xb8 + to.low3());
        code.writeBytes(ByteBuffer.allocate(Long.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(value)
                .array());
    }

    void mov(Register to, Register from) {
        twoRegisters(0x89, from, to);
    }

    void add(Register to, Register from) {
        twoRegisters(0x01, from, to);
    }

    void add(Register to, int value) {
        immediate(0, to, value);
    }

    void sub(Register to, Register from) {
        twoRegisters(0x29, from, to);
    }

    void and(Register to, Register from) {
        twoRegisters(0x21, from, to);
    }

    void xor(Register to, Register from) {
        twoRegisters(0x31, from, to);
    }

    void cmp(Register left, Register right) {
        twoRegisters(0x39, right, left);
    }

    void imul(Register to, Register from) {
        emit(REX_W | to.high1() << 2 | from.high1(), 0x0f, 0xaf, modRm(DIRECT, to.low3(), from.low3()));
    }

    void shl(Register to, int bits) {
        emit(REX_W | to.high1(), 0xc1, modRm(DIRECT, 4, to.low3()), bits);
    }

    void shr(Register to, int bits) {
        emit(REX_W | to.high1(), 0xc1, modRm(DIRECT, 5, to.low3()), bits);
    }

    /** {@code mov to, [address]} */
    void load(Register to, Register address) {
        memory(0x8b, to, address);
    }

    /** {@code mov [address], from} */
    void store(Register address, Register from) {
        memory(0x89, from, address);
    }

    /** {@code xchg [address], with}, which locks the bus. */
    void xchg(Register address, Register with) {
        memory(0x87, with, address);
    }

    void pause() {
        emit(0xf3, 0x90);
    }

    void jmp(Label target) {
        emit(0xe9);
        relative(target);
    }

    void jump(Condition condition, Label target) {
        emit(0x0f, 0x80 | condition.code);
        relative(target);
    }

    /** {@code out port, eax} */
    void outEax(int port) {
        emit(0xe7, port);
    }

    void hlt() {
        emit(0xf4);
    }

    /** The code, with every jump at its label. */
    byte[] assemble() {
        ByteBuffer bytes = ByteBuffer.wrap(code.toByteArray()).order(ByteOrder.LITTLE_ENDIAN);
        jumps.forEach((at, label) -> bytes.putInt(
                at,
                label.position.orElseThrow(() -> new IllegalStateException("a jump to a label that is nowhere"))
                        - (at + JUMP_BYTES)));
        return bytes.array();
    }

    private void twoRegisters(int opcode, Register reg, Register rm) {
        emit(REX_W | reg.high1() << 2 | rm.high1(), opcode, modRm(DIRECT, reg.low3(), rm.low3()));
    }

    private void immediate(int extension, Register to, int value) {
        emit(REX_W | to.high1(), 0x81, modRm(DIRECT, extension, to.low3()));
        int32(value);
    }

    private void memory(int opcode, Register reg, Register address) {
        if (address.low3() == Register.RSP.low3() || address.low3() == Register.RBP.low3()) {
            throw new IllegalArgumentException(
                    "[" + address + "] has another encoding; use RAX, RBX, RCX, RDX, RSI or RDI");
        }
        emit(REX_W | reg.high1() << 2 | address.high1(), opcode, modRm(INDIRECT, reg.low3(), address.low3()));
    }

    private void relative(Label target) {
        jumps.put(code.size(), target);
        int32(0);
    }

    private void int32(int value) {
        code.writeBytes(ByteBuffer.allocate(Integer.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(value)
                .array());
    }

    private void emit(int... bytes) {
        for (int one : bytes) {
            code.write(one);
        }
    }

    private static int modRm(int mod, int reg, int rm) {
        return mod << 6 | reg << 3 | rm;
    }
}
