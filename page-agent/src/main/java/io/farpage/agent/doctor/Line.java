package io.farpage.agent.doctor;

/**
 * One finding.
 *
 * @param id of the check, the same in every version, such as {@code rdma.port}
 * @param subject what was looked at, such as {@code port mlx5_0/1}
 * @param level how serious it is
 * @param detail what was seen, one line
 * @param fix a command for a root shell that mends it; empty if there is nothing to mend
 */
public record Line(String id, String subject, Level level, String detail, String fix) {
    /** The start of a line: which check of what. Its methods give the verdict. */
    record Check(String id, String subject) {
        Line ok(String detail) {
            return found(Level.OK, detail, "");
        }

        Line warn(String detail, String fix) {
            return found(Level.WARN, detail, fix);
        }

        Line fail(String detail, String fix) {
            return found(Level.FAIL, detail, fix);
        }

        Line found(Level level, String detail, String fix) {
            return new Line(id, subject, level, detail, fix);
        }
    }

    static Check check(String id, String subject) {
        return new Check(id, subject);
    }
}
