/*
 * A libibverbs with one device, "fake0", whose work requests succeed at once and do nothing: for what the provider does by itself.
 * A send to remote address 0xbad is refused by post_send, which has then taken what was before it in the chain.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#undef ibv_reg_mr
#undef ibv_query_port

#define DEPTH 4096

struct queue {
	struct ibv_cq cq;
	struct ibv_wc done[DEPTH];
	unsigned head, tail;
};

static struct ibv_device device = {.name = "fake0"};
static unsigned next_qp = 0x100;

static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc) {
	struct queue *queue = (struct queue *)cq;
	int taken = 0;
	while (taken < count && queue->head != queue->tail)
		wc[taken++] = queue->done[queue->head++ % DEPTH];
	return taken;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad) {
	struct queue *queue = (struct queue *)qp->send_cq;
	for (; wr; wr = wr->next) {
		if (wr->wr.rdma.remote_addr == 0xbad) {
			*bad = wr;
			return EINVAL;
		}
		if (!(wr->send_flags & IBV_SEND_SIGNALED))
			continue;
		struct ibv_wc *wc = &queue->done[queue->tail++ % DEPTH];
		wc->wr_id = wr->wr_id;
		wc->status = IBV_WC_SUCCESS;
		wc->opcode = IBV_WC_RDMA_READ;
		wc->byte_len = wr->num_sge ? wr->sg_list->length : 0;
		wc->qp_num = qp->qp_num;
	}
	return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad) { return 0; }
/* Completes on the queue pair that was created last with the shared queue. */
static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad) {
	struct ibv_qp *qp = srq->srq_context;
	struct queue *queue = (struct queue *)qp->recv_cq;
	for (; wr; wr = wr->next)
		queue->done[queue->tail++ % DEPTH] =
			(struct ibv_wc){.wr_id = wr->wr_id, .opcode = IBV_WC_RECV, .qp_num = qp->qp_num};
	return 0;
}
static int req_notify_cq(struct ibv_cq *cq, int solicited) { return 0; }

struct ibv_device **ibv_get_device_list(int *count) {
	struct ibv_device **list = calloc(2, sizeof(*list));
	list[0] = &device;
	*count = 1;
	return list;
}
void ibv_free_device_list(struct ibv_device **list) { free(list); }
const char *ibv_get_device_name(struct ibv_device *d) { return d->name; }
struct ibv_context *ibv_open_device(struct ibv_device *d) {
	struct ibv_context *context = calloc(1, sizeof(*context));
	context->device = d;
	context->async_fd = eventfd(0, 0);
	context->ops.poll_cq = poll_cq;
	context->ops.post_send = post_send;
	context->ops.post_recv = post_recv;
	context->ops.post_srq_recv = post_srq_recv;
	context->ops.req_notify_cq = req_notify_cq;
	return context;
}
int ibv_close_device(struct ibv_context *context) { close(context->async_fd); free(context); return 0; }
int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr) {
	memset(attr, 0, sizeof(*attr));
	attr->max_qp = attr->max_qp_wr = attr->max_cqe = attr->max_mr = attr->max_srq_wr = DEPTH;
	attr->max_sge = attr->max_sge_rd = 4;
	attr->max_qp_rd_atom = attr->max_qp_init_rd_atom = 16;
	attr->phys_port_cnt = 1;
	return 0;
}
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *compat) {
	struct ibv_port_attr *attr = (struct ibv_port_attr *)compat;
	attr->state = IBV_PORT_ACTIVE;
	attr->active_mtu = IBV_MTU_4096;
	attr->gid_tbl_len = 1;
	attr->max_msg_sz = 1 << 30;
	attr->link_layer = IBV_LINK_LAYER_ETHERNET;
	return 0;
}
int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid) {
	memset(gid, 1, sizeof(*gid));
	return 0;
}
ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max, uint32_t flags, size_t size) {
	memset(entries, 0, sizeof(*entries));
	memset(&entries->gid, 1, sizeof(entries->gid));
	entries->port_num = 1;
	entries->gid_type = IBV_GID_TYPE_ROCE_V2;
	return 1;
}
struct ibv_pd *ibv_alloc_pd(struct ibv_context *context) { return calloc(1, sizeof(struct ibv_pd)); }
int ibv_dealloc_pd(struct ibv_pd *pd) { free(pd); return 0; }
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access) { return calloc(1, sizeof(struct ibv_mr)); }
int ibv_dereg_mr(struct ibv_mr *mr) { free(mr); return 0; }
struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context) { errno = EMFILE; return NULL; }
int ibv_destroy_comp_channel(struct ibv_comp_channel *channel) { return 0; }
struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *user, struct ibv_comp_channel *channel, int vector) {
	return calloc(1, sizeof(struct queue));
}
int ibv_destroy_cq(struct ibv_cq *cq) { free(cq); return 0; }
struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr) { return calloc(1, sizeof(struct ibv_srq)); }
int ibv_destroy_srq(struct ibv_srq *srq) { free(srq); return 0; }
struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr) {
	if (attr->cap.max_inline_data > 128) {
		errno = EINVAL;
		return NULL;
	}
	struct ibv_qp *qp = calloc(1, sizeof(*qp));
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->qp_num = next_qp++;
	if (attr->srq)
		attr->srq->srq_context = qp;
	return qp;
}
int ibv_destroy_qp(struct ibv_qp *qp) { free(qp); return 0; }
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask) { qp->state = attr->qp_state; return 0; }
int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init) {
	attr->qp_state = qp->state;
	return 0;
}
int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **user) { return -1; }
void ibv_ack_cq_events(struct ibv_cq *cq, unsigned count) {}
int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event) { errno = EIO; return -1; }
void ibv_ack_async_event(struct ibv_async_event *event) {}
