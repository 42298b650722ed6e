/* Forged accesses as work requests through libibverbs. Needs access.h and queue_pairs.h. */
#include <time.h>

#define PAIRS 16
#define INK 0xa7
#define DATA 64 /* bytes of a rightful access */

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static _Noreturn void wrong(const char *what, struct access a) {
    fprintf(stderr, "forge: %s: %s, operation %d of %u bytes at 0x%llx with rkey 0x%08x\n", what, reason_names[a.reason], a.operation, a.length,
            (unsigned long long) a.address, a.rkey);
    exit(1);
}

struct requests {
    struct device *device;
    struct target *target;
    struct ibv_qp *askers[PAIRS + 1], *answerers[PAIRS + 1]; /* the last pair is the rightful one */
    struct ibv_mr *ink;
    uint8_t *local, *blank;
    struct access posted[PAIRS];
};

static void post(struct requests *s, int pair, struct access a) {
    struct ibv_sge sge = {(uint64_t) (s->local + (size_t) pair * PAGE), a.length, s->ink->lkey};
    struct ibv_send_wr wr = {.wr_id = (uint64_t) pair, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED}, *bad;
    static const enum ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD};
    wr.opcode = opcodes[a.operation];
    if (is_atomic(a.operation)) {
        wr.wr.atomic.remote_addr = a.address;
        wr.wr.atomic.rkey = a.rkey;
        wr.wr.atomic.swap = wr.wr.atomic.compare_add = 1;
    } else {
        wr.wr.rdma.remote_addr = a.address;
        wr.wr.rdma.rkey = a.rkey;
    }
    if (ibv_post_send(s->askers[pair], &wr, &bad)) fail("ibv_post_send");
}

static struct ibv_wc await_completion(const struct device *device) {
    struct ibv_wc wc;
    double end = seconds() + 20;
    while (!ibv_poll_cq(device->cq, 1, &wc))
        if (seconds() > end) {
            fprintf(stderr, "forge: no completion within 20 s\n");
            exit(1);
        }
    return wc;
}

static void connect_pair(struct requests *s, int pair) {
    uint32_t psn = (uint32_t) draw() & 0xffffff;
    answer(s->device, s->answerers[pair], s->askers[pair]->qp_num, psn);
    answer(s->device, s->askers[pair], s->answerers[pair]->qp_num, 0);
    ask(s->askers[pair], psn);
}

/* WRITEs new bytes with the right key, and READs them. */
static void use_rightly(struct requests *s) {
    const struct region *r = &s->target->regions[SPACE];
    uint8_t *local = s->local + PAIRS * PAGE, sent[64];
    uint64_t at = r->address + below(r->length - sizeof sent + 1);
    for (size_t i = 0; i < sizeof sent; i++) local[i] = sent[i] = (uint8_t) draw();
    struct access a = {.operation = WRITE, .address = at, .length = sizeof sent, .rkey = r->rkey};
    post(s, PAIRS, a);
    if (await_completion(s->device).status != IBV_WC_SUCCESS) wrong("a rightful WRITE was refused", a);
    memcpy(s->target->expected + (at - (uint64_t) s->target->memory), sent, sizeof sent);
    memset(local, INK, sizeof sent);
    a.operation = READ;
    post(s, PAIRS, a);
    if (await_completion(s->device).status != IBV_WC_SUCCESS || memcmp(local, sent, sizeof sent)) wrong("a rightful READ did not read", a);
    memset(local, INK, sizeof sent);
    if (first_change(s->target) >= 0) wrong("a rightful WRITE wrote elsewhere", a);
}

static void forge_requests(struct device *device, struct target *target, uint64_t count) {
    static struct requests s;
    s = (struct requests) {.device = device, .target = target};
    size_t bytes = (PAIRS + 1) * PAGE;
    s.local = aligned_alloc(PAGE, bytes);
    s.blank = malloc(bytes);
    if (!s.local || !s.blank) fail("malloc");
    memset(s.local, INK, bytes);
    memset(s.blank, INK, bytes);
    s.ink = ibv_reg_mr(device->foreign, s.local, bytes, ALL_RIGHTS);
    if (!s.ink) fail("ibv_reg_mr");
    for (int i = 0; i <= PAIRS; i++) {
        s.answerers[i] = create_queue_pair(device, IBV_QPT_RC, 8);
        struct device asking = *device;
        asking.pd = device->foreign;
        s.askers[i] = create_queue_pair(&asking, IBV_QPT_RC, 8);
    }
    connect_pair(&s, PAIRS);
    use_rightly(&s);
    uint64_t statuses[32] = {0}, reasons[REASONS] = {0}, operations[OPERATIONS] = {0}, rightful = 1;
    double start = seconds();
    for (uint64_t done = 0; done < count; done += PAIRS) {
        for (int i = 0; i < PAIRS; i++) connect_pair(&s, i);
        for (int i = 0; i < PAIRS; i++) post(&s, i, s.posted[i] = forge(target, PAGE));
        for (int i = 0; i < PAIRS; i++) {
            struct ibv_wc wc = await_completion(device);
            struct access a = s.posted[wc.wr_id];
            statuses[wc.status & 31]++;
            reasons[a.reason]++;
            operations[a.operation]++;
            if (wc.status != IBV_WC_REM_ACCESS_ERR) wrong(ibv_wc_status_str(wc.status), a);
        }
        if (memcmp(s.local, s.blank, bytes)) wrong("bytes were read by one of 16 accesses, the first being", s.posted[0]);
        if (first_change(target) >= 0) wrong("bytes were written by one of 16 accesses, the first being", s.posted[0]);
        use_rightly(&s);
        rightful++;
    }
    double took = seconds() - start;
    printf("# result: %llu forged accesses through libibverbs, all refused with %s: 0 bytes read or written; %llu rightful WRITEs and READs between"
            " them; %.0f a second\n", (unsigned long long) statuses[IBV_WC_REM_ACCESS_ERR], ibv_wc_status_str(IBV_WC_REM_ACCESS_ERR),
            (unsigned long long) rightful, (double) statuses[IBV_WC_REM_ACCESS_ERR] / took);
    print_reasons("accesses", reasons);
    printf("# result:   accesses by operation:");
    for (int i = 0; i < OPERATIONS; i++) printf("%s %s %" PRIu64, i ? "," : "", operation_names[i], operations[i]);
    printf("\n");
    for (int i = 0; i <= PAIRS; i++) {
        ibv_destroy_qp(s.askers[i]);
        ibv_destroy_qp(s.answerers[i]);
    }
    ibv_dereg_mr(s.ink);
}
