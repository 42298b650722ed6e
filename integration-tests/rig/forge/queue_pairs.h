/* Connected queue pairs of one device, and how they become usable again after a refusal. Needs target.h. */

#define ACCESS (READ_RIGHT | WRITE_RIGHT | ATOMIC_RIGHT)

struct device {
    struct ibv_context *context;
    struct ibv_pd *pd, *foreign;
    struct ibv_cq *cq;
    union ibv_gid gid, peer;
    uint8_t gid_index;
};

static void open_device(struct device *d, const char *name, int gid_index) {
    int count;
    struct ibv_device **list = ibv_get_device_list(&count);
    d->context = NULL;
    for (int i = 0; list && i < count; i++)
        if (!strcmp(ibv_get_device_name(list[i]), name)) d->context = ibv_open_device(list[i]);
    if (!d->context) {
        fprintf(stderr, "forge: no device %s\n", name);
        exit(1);
    }
    ibv_free_device_list(list);
    d->gid_index = (uint8_t) gid_index;
    d->pd = ibv_alloc_pd(d->context);
    d->foreign = ibv_alloc_pd(d->context);
    d->cq = ibv_create_cq(d->context, 1024, NULL, NULL, 0);
    if (!d->pd || !d->foreign || !d->cq) fail("ibv_alloc_pd, ibv_create_cq");
    if (ibv_query_gid(d->context, 1, gid_index, &d->gid)) fail("ibv_query_gid");
    d->peer = d->gid;
}

static struct ibv_qp *create_queue_pair(struct device *d, enum ibv_qp_type type, uint32_t depth) {
    struct ibv_qp_init_attr init = {.send_cq = d->cq, .recv_cq = d->cq, .qp_type = type,
        .cap = {.max_send_wr = depth, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
    struct ibv_qp *qp = ibv_create_qp(d->pd, &init);
    if (!qp) fail("ibv_create_qp");
    return qp;
}

static void modify(struct ibv_qp *qp, struct ibv_qp_attr attr, int mask) {
    if (ibv_modify_qp(qp, &attr, mask | IBV_QP_STATE)) fail("ibv_modify_qp");
}

/* To RTR, from anywhere: answers the queue pair `peer` at the address d->peer, whose first packet has the number `psn`. */
static void answer(const struct device *d, struct ibv_qp *qp, uint32_t peer, uint32_t psn) {
    modify(qp, (struct ibv_qp_attr) {.qp_state = IBV_QPS_RESET}, 0);
    modify(qp, (struct ibv_qp_attr) {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ACCESS},
            IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    modify(qp, (struct ibv_qp_attr) {.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_4096, .dest_qp_num = peer, .rq_psn = psn,
            .max_dest_rd_atomic = 4, .min_rnr_timer = 12,
            .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = d->peer, .sgid_index = d->gid_index, .hop_limit = 64}}},
            IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN
                    | (qp->qp_type == IBV_QPT_RC ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
}

/* RTR to RTS. */
static void ask(struct ibv_qp *qp, uint32_t psn) {
    modify(qp, (struct ibv_qp_attr) {.qp_state = IBV_QPS_RTS, .sq_psn = psn, .timeout = 12, .retry_cnt = 3, .rnr_retry = 7, .max_rd_atomic = 4},
            IBV_QP_SQ_PSN | (qp->qp_type == IBV_QPT_RC ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0));
}
