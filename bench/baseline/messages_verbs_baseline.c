/*
 * messages_verbs_baseline MODE COUNT ASKER_CPU ANSWERER_CPU PRIORITY DEVICE GID_INDEX: as messages_baseline, by SEND
 * and RECV over a reliable connection between two processes on one RDMA device. What page-bench coherent compares
 * faults over RDMA with.
 */
#define _GNU_SOURCE

#define PROGRAM "messages_verbs_baseline"

#include <infiniband/verbs.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "figures.h"
#include "wire.h"

enum { ASKED = 64, ANSWERED = 64 + 4096, RECEIVES = 2, SIGNALED_EVERY = 16, SEND = 1, RECEIVE = 2 };

struct endpoint {
    uint32_t qpn;
    uint32_t psn;
    uint16_t lid;
    union ibv_gid gid;
};

struct side {
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    struct ibv_port_attr port;
    struct endpoint own;
    int gid_index;
    bool spin;
    uint64_t sent;
    char memory[ANSWERED * (1 + RECEIVES)]; /* what is sent, then what is received */
};

static void *require(void *made, const char *what) {
    if (made == NULL) {
        fail("%s: %s", what, strerror(errno));
    }
    return made;
}

static void check(int error, const char *what) {
    if (error != 0) {
        fail("%s: %s", what, strerror(error));
    }
}

static struct ibv_context *open_device(const char *name) {
    int count = 0;
    struct ibv_device **devices = require(ibv_get_device_list(&count), "ibv_get_device_list");
    for (int i = 0; i < count; i++) {
        if (strcmp(ibv_get_device_name(devices[i]), name) == 0) {
            return require(ibv_open_device(devices[i]), "ibv_open_device");
        }
    }
    fail("there is no RDMA device %s", name);
}

static void open_side(struct side *s, const char *device) {
    struct ibv_context *context = open_device(device);
    struct ibv_pd *pd = require(ibv_alloc_pd(context), "ibv_alloc_pd");
    s->channel = require(ibv_create_comp_channel(context), "ibv_create_comp_channel");
    s->cq = require(ibv_create_cq(context, 64, NULL, s->channel, 0), "ibv_create_cq");
    s->mr = require(ibv_reg_mr(pd, s->memory, sizeof s->memory, IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
    check(ibv_query_port(context, 1, &s->port), "ibv_query_port");
    struct ibv_qp_init_attr wanted = {
            .send_cq = s->cq,
            .recv_cq = s->cq,
            .qp_type = IBV_QPT_RC,
            .cap = {.max_send_wr = 2 * SIGNALED_EVERY, .max_recv_wr = RECEIVES, .max_send_sge = 1, .max_recv_sge = 1}};
    s->qp = require(ibv_create_qp(pd, &wanted), "ibv_create_qp");
    s->own = (struct endpoint) {.qpn = s->qp->qp_num, .psn = 1, .lid = s->port.lid};
    if (ibv_query_gid(context, 1, s->gid_index, &s->own.gid) != 0) {
        fail("ibv_query_gid: port 1 of %s has no GID %d", device, s->gid_index);
    }
}

static void post_receive(struct side *s, uint64_t number) {
    struct ibv_sge sge = {
            .addr = (uintptr_t) s->memory + ANSWERED * (1 + number % RECEIVES), .length = ANSWERED, .lkey = s->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = RECEIVE, .sg_list = &sge, .num_sge = 1}, *bad;
    check(ibv_post_recv(s->qp, &wr, &bad), "ibv_post_recv");
}

static void post_send(struct side *s, uint32_t size) {
    struct ibv_sge sge = {.addr = (uintptr_t) s->memory, .length = size, .lkey = s->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = SEND, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
    wr.send_flags = ++s->sent % SIGNALED_EVERY == 0 ? IBV_SEND_SIGNALED : 0;
    check(ibv_post_send(s->qp, &wr, &bad), "ibv_post_send");
}

static bool poll(struct side *s, struct ibv_wc *wc) {
    int n = ibv_poll_cq(s->cq, 1, wc);
    if (n < 0) {
        fail("ibv_poll_cq: %d", n);
    }
    if (n == 1 && wc->status != IBV_WC_SUCCESS) {
        fail("%s: %s", wc->wr_id == SEND ? "SEND" : "RECV", ibv_wc_status_str(wc->status));
    }
    return n == 1;
}

static void sleep_until_event(struct side *s) {
    struct ibv_cq *cq;
    void *context;
    if (ibv_get_cq_event(s->channel, &cq, &context) != 0) {
        fail("ibv_get_cq_event: %s", strerror(errno));
    }
    ibv_ack_cq_events(cq, 1);
}

/* The number-th message that comes; the next but one may take its place. */
static char *receive(struct side *s, uint64_t number, uint32_t size) {
    struct ibv_wc wc;
    for (;;) {
        bool is_one = poll(s, &wc);
        if (!is_one && !s->spin) {
            check(ibv_req_notify_cq(s->cq, 0), "ibv_req_notify_cq");
            is_one = poll(s, &wc);
            if (!is_one) {
                sleep_until_event(s);
            }
        }
        if (is_one && wc.wr_id == RECEIVE) {
            if (wc.byte_len != size) {
                fail("a message of %u bytes has come, %u were expected", wc.byte_len, size);
            }
            return s->memory + ANSWERED * (1 + number % RECEIVES);
        }
    }
}

static void connect_side(struct side *s, const struct endpoint *peer) {
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    check(ibv_modify_qp(s->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "INIT");
    for (uint64_t i = 0; i < RECEIVES; i++) {
        post_receive(s, i);
    }
    struct ibv_qp_attr rtr = {
            .qp_state = IBV_QPS_RTR,
            .path_mtu = s->port.active_mtu,
            .dest_qp_num = peer->qpn,
            .rq_psn = peer->psn,
            .max_dest_rd_atomic = 1,
            .min_rnr_timer = 12,
            .ah_attr = {
                    .dlid = peer->lid,
                    .port_num = 1,
                    .is_global = s->port.link_layer == IBV_LINK_LAYER_ETHERNET,
                    .grh = {.dgid = peer->gid, .sgid_index = (uint8_t) s->gid_index, .hop_limit = 64}}};
    check(ibv_modify_qp(s->qp, &rtr,
                  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN
                          | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
            "RTR");
    struct ibv_qp_attr rts = {
            .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .sq_psn = s->own.psn, .max_rd_atomic = 1};
    check(ibv_modify_qp(s->qp, &rts,
                  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN
                          | IBV_QP_MAX_QP_RD_ATOMIC),
            "RTS");
}

static void exchange(int fd, const void *own, void *peer, size_t size) {
    if (send(fd, own, size, MSG_NOSIGNAL) != (ssize_t) size || recv(fd, peer, size, MSG_WAITALL) != (ssize_t) size) {
        fail("the other process has ended");
    }
}

/* Opens the device and connects to the other process; both have connected when it returns. */
static void begin(struct side *s, const char *device, int fd, int cpu) {
    struct endpoint peer;
    char ready = 1;
    pin(cpu);
    open_side(s, device);
    exchange(fd, &s->own, &peer, sizeof peer);
    connect_side(s, &peer);
    exchange(fd, &ready, &ready, 1);
}

static void answer(struct side *s) {
    for (uint64_t i = 0;; i++) {
        memcpy(s->memory, receive(s, i, ASKED), ASKED);
        post_receive(s, i);
        post_send(s, ANSWERED);
    }
}

static void ask(struct side *s, uint64_t *number, uint64_t count, struct latency_histogram *latencies) {
    for (uint64_t end = *number + count; *number < end; ++*number) {
        memcpy(s->memory, number, sizeof *number);
        uint64_t started = now_ns();
        post_send(s, ASKED);
        const char *answered = receive(s, *number, ANSWERED);
        latency_record(latencies, now_ns() - started);
        if (memcmp(s->memory, answered, ASKED) != 0) {
            fail("answer %" PRIu64 " is not to what was asked", *number);
        }
        post_receive(s, *number);
    }
}

int main(int argc, char **argv) {
    static struct latency_histogram latencies;
    static struct side side;
    if (argc != 8) {
        fail("wants block or spin, how many messages, the CPUs of both sides, their priority, a device and the index of its GID");
    }
    side.spin = parse_choice("MODE", argv[1], mode_names) == 1;
    uint64_t count = parse_number("COUNT", argv[2], 1, 1ull << 40);
    int asker = (int) parse_number("ASKER_CPU", argv[3], 0, CPU_SETSIZE - 1);
    int answerer = (int) parse_number("ANSWERER_CPU", argv[4], 0, CPU_SETSIZE - 1);
    int priority = (int) parse_number("PRIORITY", argv[5], 0, 99);
    const char *device = argv[6];
    side.gid_index = (int) parse_number("GID_INDEX", argv[7], 0, 255);
    int between[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, between) != 0) {
        fail("socketpair: %s", strerror(errno));
    }
    schedule(priority);
    pid_t child = fork();
    if (child < 0) {
        fail("fork: %s", strerror(errno));
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(between[0]);
        begin(&side, device, between[1], answerer);
        answer(&side);
    }
    close(between[1]);
    begin(&side, device, between[0], asker);
    uint64_t number = 0;
    ask(&side, &number, count / 10 + 1, &latencies);
    latency_reset(&latencies);
    uint64_t started = now_ns();
    ask(&side, &number, count, &latencies);
    uint64_t elapsed = now_ns() - started;
    char placement[64];
    snprintf(placement, sizeof placement, "asker cpu %d, answerer cpu %d", asker, answerer);
    print_figures(&(struct figures) {
            .name = "c-messages",
            .transport = "rdma",
            .pattern = "sequential",
            .placement = placement,
            .backing = "none",
            .page_size = ANSWERED,
            .depth = 1,
            .count = count,
            .elapsed_ns = elapsed,
            .scheduling = scheduling_of_thread(),
            .latencies = &latencies,
            .with_latencies = true});
    return 0;
}
