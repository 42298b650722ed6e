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
    static Line ok(String id, String subject, String detail) {
        return new Line(id, subject, Level.OK, detail, "");
    }

    static Line warn(String id, String subject, String detail, String fix) {
        return new Line(id, subject, Level.WARN, detail, fix);
    }

    static Line fail(String id, String subject, String detail, String fix) {
        return new Line(id, subject, Level.FAIL, detail, fix);
    }
}
