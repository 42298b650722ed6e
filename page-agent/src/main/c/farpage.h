/*
 * farpage.h: what programs need that share the memory of a coherent space over hosts, on C11 atomics alone. See
 * docs/coherent-spaces.md.
 *
 * Futexes do not cross hosts, so pthread mutexes, condition variables, barriers and semaphores that are shared between processes do not
 * work there. What follows spins for a moment, then yields, and then sleeps in between.
 *
 * A page belongs to one host at a time while it is written. So keep what different hosts write in different pages, and a lock in the page of
 * the data that it protects: the host that gets the one has the other.
 */
#ifndef FARPAGE_H
#define FARPAGE_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

/* Bytes of a page, by which memory moves between hosts. */
#define FARPAGE_PAGE 4096

/* Waits a little; longer each time. Begin with 0. */
static inline void farpage_wait(unsigned *times) {
    if (*times < 64) {
        ++*times;
    } else if (*times < 128) {
        ++*times;
        sched_yield();
    } else {
        nanosleep(&(struct timespec) {.tv_nsec = 20000}, NULL);
    }
}

/* A lock. Zeros are one that is free. */
struct farpage_lock {
    atomic_uint held;
};

static inline void farpage_lock(struct farpage_lock *lock) {
    unsigned times = 0;
    /* It is read before it is written: readers on several hosts share the page. */
    while (atomic_load_explicit(&lock->held, memory_order_relaxed) != 0
           || atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) != 0) {
        farpage_wait(&times);
    }
}

static inline void farpage_unlock(struct farpage_lock *lock) {
    atomic_store_explicit(&lock->held, 0, memory_order_release);
}

/* Where a number of threads wait for each other, again and again. Zeros are one at which none waits. */
struct farpage_barrier {
    _Alignas(FARPAGE_PAGE) atomic_uint arrived;
    _Alignas(FARPAGE_PAGE) atomic_uint passed;
};

static inline void farpage_barrier(struct farpage_barrier *barrier, unsigned threads) {
    unsigned round = atomic_load(&barrier->passed);
    if (atomic_fetch_add(&barrier->arrived, 1) + 1 == threads) {
        atomic_store(&barrier->arrived, 0);
        atomic_store(&barrier->passed, round + 1);
        return;
    }
    unsigned times = 0;
    while (atomic_load(&barrier->passed) == round) {
        farpage_wait(&times);
    }
}

#define FARPAGE_SLOTS 64
#define FARPAGE_SLOT_BYTES 56

/* Messages from one thread to another, in order. Zeros are an empty one. */
struct farpage_ring {
    _Alignas(FARPAGE_PAGE) _Atomic uint64_t sent;
    _Alignas(FARPAGE_PAGE) _Atomic uint64_t received;
    _Alignas(FARPAGE_PAGE) struct {
        uint64_t length;
        char bytes[FARPAGE_SLOT_BYTES];
    } slots[FARPAGE_SLOTS];
};

/* Waits until there is room. Of a message that is too long the beginning is sent. */
static inline void farpage_send(struct farpage_ring *ring, const void *message, uint64_t length) {
    uint64_t number = atomic_load_explicit(&ring->sent, memory_order_relaxed);
    unsigned times = 0;
    while (number - atomic_load_explicit(&ring->received, memory_order_acquire) == FARPAGE_SLOTS) {
        farpage_wait(&times);
    }
    uint64_t taken = length < FARPAGE_SLOT_BYTES ? length : FARPAGE_SLOT_BYTES;
    ring->slots[number % FARPAGE_SLOTS].length = taken;
    memcpy(ring->slots[number % FARPAGE_SLOTS].bytes, message, taken);
    atomic_store_explicit(&ring->sent, number + 1, memory_order_release);
}

/* Waits until there is a message. Returns its length; into has room for FARPAGE_SLOT_BYTES. */
static inline uint64_t farpage_receive(struct farpage_ring *ring, void *into) {
    uint64_t number = atomic_load_explicit(&ring->received, memory_order_relaxed);
    unsigned times = 0;
    while (atomic_load_explicit(&ring->sent, memory_order_acquire) == number) {
        farpage_wait(&times);
    }
    uint64_t length = ring->slots[number % FARPAGE_SLOTS].length;
    memcpy(into, ring->slots[number % FARPAGE_SLOTS].bytes, length);
    atomic_store_explicit(&ring->received, number + 1, memory_order_release);
    return length;
}

#endif
