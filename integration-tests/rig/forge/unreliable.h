/*
 * Forged WRITEs as work requests over unreliable connections (UC). The device drops a WRITE that it does not allow and answers nothing, and the connection
 * stays up, so a forged key takes no new connection, and there can be very many. Of the rest that forge does, READs and atomics need a reliable connection.
 *
 * A WRITE that never arrived would prove nothing, so the device must have received exactly as many packets as were sent. After each burst each queue pair
 * WRITEs with the right key; packets of a connection are handled in order, so once those bytes are there, all forged WRITEs before have been looked at.
 * Needs access.h, queue_pairs.h and requests.h.
 */
#define UC_PAIRS 8
#define UC_BURST 64

struct unreliable {
    struct device *device;
    struct target *target;
    struct ibv_qp *writers[UC_PAIRS], *answerers[UC_PAIRS];
    struct ibv_mr *ink;
    uint8_t *local;
    uint64_t sent, keys, rightful, reasons[REASONS];
};

/* Packets that the device received with the right checksum and for a queue pair that exists. */
static uint64_t received(const struct device *d) {
    char path[128];
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/1/hw_counters/rcvd_pkts", ibv_get_device_name(d->context->device));
    FILE *file = fopen(path, "r");
    uint64_t packets;
    if (!file || fscanf(file, "%" SCNu64, &packets) != 1) fail(path);
    fclose(file);
    return packets;
}

static void require_received(const struct unreliable *s, uint64_t before) {
    double end = seconds() + 5; /* the counter is a copy that is renewed now and then */
    uint64_t packets;
    while ((packets = received(s->device) - before) != s->sent)
        if (seconds() > end) {
            fprintf(stderr, "forge: of %" PRIu64 " packets sent %" PRIu64 " were received\n", s->sent, packets);
            exit(1);
        }
}

static void write_burst(struct unreliable *s, int pair, const struct access *accesses, int count, uint8_t *from) {
    struct ibv_send_wr requests[UC_BURST] = {0}, *bad;
    struct ibv_sge parts[UC_BURST];
    for (int i = 0; i < count; i++) {
        parts[i] = (struct ibv_sge) {(uint64_t) from, accesses[i].length, s->ink->lkey};
        requests[i] = (struct ibv_send_wr) {.wr_id = (uint64_t) pair, .next = i + 1 < count ? &requests[i + 1] : NULL, .sg_list = &parts[i], .num_sge = 1,
            .opcode = IBV_WR_RDMA_WRITE, .send_flags = i + 1 < count ? 0 : IBV_SEND_SIGNALED};
        requests[i].wr.rdma.remote_addr = accesses[i].address;
        requests[i].wr.rdma.rkey = accesses[i].rkey;
    }
    if (ibv_post_send(s->writers[pair], requests, &bad)) fail("ibv_post_send (UC)");
    s->sent += (uint64_t) count;
}

/* All that was posted has left. */
static void require_sent(struct unreliable *s, struct access example) {
    for (int i = 0; i < UC_PAIRS; i++) {
        struct ibv_wc wc = await_completion(s->device);
        if (wc.status != IBV_WC_SUCCESS) wrong(ibv_wc_status_str(wc.status), example);
    }
}

/* Each queue pair WRITEs new bytes with the right key, to a page of its own. */
static void write_rightly(struct unreliable *s, struct access example) {
    const struct region *r = &s->target->regions[SPACE];
    uint64_t at[UC_PAIRS];
    for (int i = 0; i < UC_PAIRS; i++) {
        uint8_t *bytes = s->local + PAGE + i * DATA;
        at[i] = r->address + (uint64_t) i * PAGE + below(PAGE - DATA + 1);
        for (int b = 0; b < DATA; b++) bytes[b] = (uint8_t) draw();
        memcpy(s->target->expected + (at[i] - (uint64_t) s->target->memory), bytes, DATA);
        struct access a = {.operation = WRITE, .address = at[i], .length = DATA, .rkey = r->rkey};
        write_burst(s, i, &a, 1, bytes);
    }
    require_sent(s, example);
    double end = seconds() + 20;
    for (int i = 0; i < UC_PAIRS; i++)
        while (memcmp((uint8_t *) at[i], s->local + PAGE + i * DATA, DATA))
            if (seconds() > end) wrong("a rightful WRITE did not arrive after forged ones such as", example);
    s->rightful += UC_PAIRS;
}

/* Until `count` of the WRITEs had a key that does not belong to what they aim at; those with a wrong range or without the right come on top. */
static void forge_writes(struct device *device, struct target *target, uint64_t count) {
    static struct unreliable s;
    s = (struct unreliable) {.device = device, .target = target};
    size_t bytes = 2 * PAGE;
    s.local = aligned_alloc(PAGE, bytes);
    if (!s.local) fail("malloc");
    memset(s.local, INK, bytes);
    s.ink = ibv_reg_mr(device->foreign, s.local, bytes, IBV_ACCESS_LOCAL_WRITE);
    if (!s.ink) fail("ibv_reg_mr");
    struct device writing = *device;
    writing.pd = device->foreign;
    for (int i = 0; i < UC_PAIRS; i++) {
        s.answerers[i] = create_queue_pair(device, IBV_QPT_UC, 1);
        s.writers[i] = create_queue_pair(&writing, IBV_QPT_UC, UC_BURST);
        uint32_t psn = (uint32_t) draw() & 0xffffff;
        answer(device, s.answerers[i], s.writers[i]->qp_num, psn);
        answer(device, s.writers[i], s.answerers[i]->qp_num, 0);
        ask(s.writers[i], psn);
    }
    uint64_t before = received(device);
    struct access burst[UC_BURST] = {{.operation = WRITE}};
    write_rightly(&s, burst[0]);
    double start = seconds();
    while (s.keys < count) {
        for (int pair = 0; pair < UC_PAIRS; pair++) {
            for (int i = 0; i < UC_BURST; i++) {
                burst[i] = forge_operation(target, WRITE, i % 4 ? below(KEY_REASONS) : below(REASONS), PAGE);
                s.reasons[burst[i].reason]++;
                s.keys += burst[i].reason < KEY_REASONS;
            }
            write_burst(&s, pair, burst, UC_BURST, s.local);
        }
        require_sent(&s, burst[0]);
        write_rightly(&s, burst[0]);
        if (first_change(target) >= 0) wrong("bytes were written by one of 512 WRITEs, the last being", burst[UC_BURST - 1]);
    }
    double took = seconds() - start;
    require_received(&s, before);
    printf("# result: %" PRIu64 " WRITEs with forged keys over unreliable connections, and %" PRIu64 " with a wrong range or right: 0 bytes written;"
            " all %" PRIu64 " packets arrived, and so did the bytes of %" PRIu64 " rightful WRITEs on the same queue pairs; %.0f a second\n", s.keys,
            s.sent - s.rightful - s.keys, s.sent, s.rightful, (double) s.sent / took);
    print_reasons("WRITEs over UC", s.reasons);
    for (int i = 0; i < UC_PAIRS; i++) {
        ibv_destroy_qp(s.writers[i]);
        ibv_destroy_qp(s.answerers[i]);
    }
    ibv_dereg_mr(s.ink);
}
