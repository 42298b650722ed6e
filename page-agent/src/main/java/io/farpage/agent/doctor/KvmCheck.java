package io.farpage.agent.doctor;

import java.util.List;

/** Whether virtual machines can run on this machine at full speed. */
final class KvmCheck implements Check {
    private static final String ID = "paging.kvm";
    private static final String SUBJECT = "kvm";

    private final Tree tree;

    KvmCheck(Tree tree) {
        this.tree = tree;
    }

    @Override
    public List<Line> run() {
        if (!tree.exists("/dev/kvm")) {
            return List.of(Line.warn(
                    ID,
                    SUBJECT,
                    "/dev/kvm is not there: no virtual machine runs on this node, but it can export memory",
                    "modprobe kvm_intel || modprobe kvm_amd"));
        }
        return List.of(
                tree.isUsable("/dev/kvm")
                        ? Line.ok(ID, SUBJECT, "/dev/kvm can be read and written")
                        : Line.warn(
                                ID,
                                SUBJECT,
                                "/dev/kvm cannot be read and written by this user",
                                "usermod -aG kvm " + System.getProperty("user.name")));
    }
}
