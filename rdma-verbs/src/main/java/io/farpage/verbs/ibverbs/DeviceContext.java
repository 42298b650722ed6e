package io.farpage.verbs.ibverbs;

/**
 * An open {@code struct ibv_context}.
 *
 * @param library the library that opened it
 * @param host the host that it is on
 * @param name its device, such as {@code mlx5_0}
 * @param pointer {@code struct ibv_context}
 */
record DeviceContext(LibIbverbs library, Host host, String name, long pointer) {}
