/* What the scheduler did to a thread: how often it lost its CPU though it could go on, and how long it could run and had none. */
#ifndef FARPAGE_SCHEDULING_H
#define FARPAGE_SCHEDULING_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

struct scheduling {
    uint64_t preemptions; /* involuntary context switches */
    uint64_t waited_ns;   /* on a run queue; 0 where the kernel does not count it */
};

/* Of the calling thread, since it began: getrusage(2), and the second number of schedstat (Documentation/scheduler/sched-stats.rst). */
static inline struct scheduling scheduling_of_thread(void) {
    struct scheduling s = {0};
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) == 0) {
        s.preemptions = (uint64_t) usage.ru_nivcsw;
    }
    FILE *counted = fopen("/proc/thread-self/schedstat", "re");
    if (counted != NULL) {
        if (fscanf(counted, "%*u %" SCNu64, &s.waited_ns) != 1) {
            s.waited_ns = 0;
        }
        fclose(counted);
    }
    return s;
}

#endif
