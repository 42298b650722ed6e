/*
 * placed: runs a program on one CPU, scheduled as the servers of this benchmark are.
 *
 *   placed CPU PRIORITY PROGRAM [ARGUMENT ...]     PRIORITY: as --priority of fetch_baseline
 */
#define _GNU_SOURCE
#define PROGRAM "placed"

#include "wire.h"

int main(int argc, char **argv) {
    if (argc < 4) {
        fail("say CPU, PRIORITY and PROGRAM");
    }
    pin((int) parse_number("CPU", argv[1], 0, CPU_SETSIZE - 1));
    schedule((int) parse_number("PRIORITY", argv[2], 0, 99));
    execvp(argv[3], argv + 3);
    fail("%s: %s", argv[3], strerror(errno));
}
