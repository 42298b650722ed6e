/*
 * forge: accesses with forged and foreign keys to memory that is registered with an RDMA device, by a program that shares no code with farpage. Not a
 * byte may be read or written.
 *
 *   forge DEVICE GID_INDEX ACCESSES WRITES INTERFACE ADDRESS PACKETS
 *
 * - ACCESSES work requests through libibverbs, each on queue pairs that have just been connected, since a refusal ends both of them.
 * - WRITEs over unreliable connections, which a refusal does not end, until WRITES of them had a forged key.
 * - PACKETS RoCE v2 packets, which need no queue pair and no RDMA device: they leave from INTERFACE, which is on the same wire as the device, in the name
 *   of ADDRESS, which the device's queue pairs are connected with. Most have one number wrong that a stranger would have to guess (queue pair, packet
 *   sequence, source address, partition, checksum) and all others right, or repeat an answered READ with another key or address. Some have all numbers
 *   right but for the access; each of those ends a queue pair.
 *
 * In all parts rightful accesses between the bursts show that the right numbers do read and write.
 *
 * Prints lines that begin with "# result: ". The exit code is 1 if a byte moved, an access was not refused, or a rightful one was.
 */
#define _GNU_SOURCE

#include "roce.h"
#include "target.h"

#include "access.h"
#include "queue_pairs.h"

#include "requests.h"

#include "unreliable.h"

#include "packets.h"

int main(int argc, char **argv) {
    if (argc != 8) {
        fprintf(stderr, "usage: forge DEVICE GID_INDEX ACCESSES WRITES INTERFACE ADDRESS PACKETS\n");
        return 2;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    state = (uint64_t) now.tv_nsec * 0x9e3779b97f4a7c15ull + (uint64_t) now.tv_sec;
    printf("seed %llu\n", (unsigned long long) state);
    make_crc_table();
    struct device device;
    open_device(&device, argv[1], atoi(argv[2]));
    struct target target;
    open_target(&target, device.pd, device.foreign, draw);
    forge_requests(&device, &target, strtoull(argv[3], NULL, 10));
    forge_writes(&device, &target, strtoull(argv[4], NULL, 10));
    forge_packets(&device, &target, open_wire(argv[1], argv[5], argv[6]), strtoull(argv[7], NULL, 10));
    return 0;
}
