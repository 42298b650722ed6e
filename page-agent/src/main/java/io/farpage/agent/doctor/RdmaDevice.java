package io.farpage.agent.doctor;

import java.util.List;
import java.util.Optional;

/**
 * An RDMA device as sysfs tells it.
 *
 * @param name such as {@code mlx5_0}
 * @param firmware version; empty for software devices
 * @param driver of the bus device, such as {@code mlx5_core}, or {@code rdma_rxe}
 * @param nodeType such as {@code CA}
 * @param board manufacturer's id of the board, if it tells one
 * @param numaNode that it is attached to, if any
 * @param node character device below {@code /dev/infiniband} that programs reach it by, if there is one
 */
record RdmaDevice(
        String name,
        String firmware,
        String driver,
        String nodeType,
        Optional<String> board,
        Optional<Long> numaNode,
        Optional<String> node,
        List<RdmaPort> ports) {
    /** Software devices have no bus device below them. */
    boolean isSoftware() {
        return driver.equals("rdma_rxe") || driver.equals("siw");
    }

    /** Where its bus device is. */
    String bus() {
        return "/sys/class/infiniband/" + name + "/device";
    }
}
