package io.farpage.verbs.ibverbs;

/**
 * Where the fields of libibverbs' structures lie on a 64-bit Linux: byte offsets, only those that farpage uses. Written
 * by hand from {@code <infiniband/verbs.h>}; the library's ABI keeps them for good.
 */
final class Structs {
    private Structs() {}

    /**
     * <pre>{@code
     * struct ibv_context {
     *     struct ibv_device      *device;
     *     struct ibv_context_ops  ops;
     *     int                     cmd_fd;
     *     int                     async_fd;
     *     int                     num_comp_vectors;
     *     pthread_mutex_t         mutex;
     *     void                   *abi_compat;
     * };
     * }</pre>
     */
    @C("ibv_context")
    static final class Context {
        @C("sizeof")
        static final int SIZE = 328;

        @C("ops.poll_cq")
        static final int POLL_CQ = 96;

        @C("ops.req_notify_cq")
        static final int REQ_NOTIFY_CQ = 104;

        @C("ops.post_srq_recv")
        static final int POST_SRQ_RECV = 168;

        @C("ops.post_send")
        static final int POST_SEND = 208;

        @C("ops.post_recv")
        static final int POST_RECV = 216;

        @C("async_fd")
        static final int ASYNC_FD = 268;

        private Context() {}
    }

    /**
     * <pre>{@code
     * struct ibv_device {
     *     struct _ibv_device_ops _ops; enum ibv_node_type node_type; enum ibv_transport_type transport_type;
     *     char name[64]; char dev_name[64]; char dev_path[256]; char ibdev_path[256];
     * };
     * }</pre>
     */
    @C("ibv_device")
    static final class Device {
        @C("sizeof")
        static final int SIZE = 664;

        @C("transport_type")
        static final int TRANSPORT_TYPE = 20;

        /** {@code IBV_TRANSPORT_IB}: InfiniBand and RoCE. */
        static final int TRANSPORT_IB = 0;

        /** {@code IBV_TRANSPORT_IWARP}. */
        static final int TRANSPORT_IWARP = 1;

        private Device() {}
    }

    /**
     * <pre>{@code
     * struct ibv_device_attr {
     *     char fw_ver[64]; __be64 node_guid; __be64 sys_image_guid; uint64_t max_mr_size; uint64_t page_size_cap;
     *     uint32_t vendor_id; uint32_t vendor_part_id; uint32_t hw_ver; int max_qp; int max_qp_wr;
     *     unsigned int device_cap_flags; int max_sge; int max_sge_rd; int max_cq; int max_cqe; int max_mr; int max_pd;
     *     int max_qp_rd_atom; int max_ee_rd_atom; int max_res_rd_atom; int max_qp_init_rd_atom;
     *     int max_ee_init_rd_atom; enum ibv_atomic_cap atomic_cap; int max_ee; int max_rdd; int max_mw;
     *     int max_raw_ipv6_qp; int max_raw_ethy_qp; int max_mcast_grp; int max_mcast_qp_attach;
     *     int max_total_mcast_qp_attach; int max_ah; int max_fmr; int max_map_per_fmr; int max_srq;
     *     int max_srq_wr; int max_srq_sge; uint16_t max_pkeys; uint8_t local_ca_ack_delay; uint8_t phys_port_cnt;
     * };
     * }</pre>
     */
    @C("ibv_device_attr")
    static final class DeviceAttr {
        @C("sizeof")
        static final int SIZE = 232;

        @C("fw_ver")
        static final int FW_VER = 0;

        @C("max_mr_size")
        static final int MAX_MR_SIZE = 80;

        @C("vendor_id")
        static final int VENDOR_ID = 96;

        @C("max_qp")
        static final int MAX_QP = 108;

        @C("max_qp_wr")
        static final int MAX_QP_WR = 112;

        @C("max_sge")
        static final int MAX_SGE = 120;

        @C("max_sge_rd")
        static final int MAX_SGE_RD = 124;

        @C("max_cqe")
        static final int MAX_CQE = 132;

        @C("max_mr")
        static final int MAX_MR = 136;

        @C("max_qp_rd_atom")
        static final int MAX_QP_RD_ATOM = 144;

        @C("max_qp_init_rd_atom")
        static final int MAX_QP_INIT_RD_ATOM = 156;

        @C("max_srq_wr")
        static final int MAX_SRQ_WR = 216;

        @C("phys_port_cnt")
        static final int PHYS_PORT_CNT = 227;

        private DeviceAttr() {}
    }

    /**
     * <pre>{@code
     * struct ibv_port_attr {
     *     enum ibv_port_state state; enum ibv_mtu max_mtu; enum ibv_mtu active_mtu; int gid_tbl_len;
     *     uint32_t port_cap_flags; uint32_t max_msg_sz; uint32_t bad_pkey_cntr; uint32_t qkey_viol_cntr;
     *     uint16_t pkey_tbl_len; uint16_t lid; uint16_t sm_lid; uint8_t lmc; uint8_t max_vl_num; uint8_t sm_sl;
     *     uint8_t subnet_timeout; uint8_t init_type_reply; uint8_t active_width; uint8_t active_speed;
     *     uint8_t phys_state; uint8_t link_layer; uint8_t flags; uint16_t port_cap_flags2;
     * };
     * }</pre>
     */
    @C("ibv_port_attr")
    static final class PortAttr {
        /**
         * Not the structure's, which grows: what is given to {@code ibv_query_port}, which fills in as much as it
         * knows.
         */
        static final int ROOM = 256;

        @C("state")
        static final int STATE = 0;

        @C("active_mtu")
        static final int ACTIVE_MTU = 8;

        @C("gid_tbl_len")
        static final int GID_TBL_LEN = 12;

        @C("max_msg_sz")
        static final int MAX_MSG_SZ = 20;

        @C("lid")
        static final int LID = 34;

        @C("link_layer")
        static final int LINK_LAYER = 46;

        @C("flags")
        static final int FLAGS = 47;

        /** {@code IBV_QPF_GRH_REQUIRED} of the flags. */
        static final int GRH_REQUIRED = 1;

        private PortAttr() {}
    }

    /**
     * <pre>{@code
     * struct ibv_gid_entry {
     *     union ibv_gid gid; uint32_t gid_index; uint32_t port_num; uint32_t gid_type; uint32_t ndev_ifindex;
     * };
     * }</pre>
     */
    @C("ibv_gid_entry")
    static final class GidEntry {
        @C("sizeof")
        static final int SIZE = 32;

        @C("gid")
        static final int GID = 0;

        @C("gid_index")
        static final int GID_INDEX = 16;

        @C("port_num")
        static final int PORT_NUM = 20;

        @C("gid_type")
        static final int GID_TYPE = 24;

        private GidEntry() {}
    }

    /**
     * <pre>{@code
     * struct ibv_mr {
     *     struct ibv_context *context; struct ibv_pd *pd; void *addr; size_t length; uint32_t handle; uint32_t lkey;
     *     uint32_t rkey;
     * };
     * }</pre>
     */
    @C("ibv_mr")
    static final class Mr {
        @C("sizeof")
        static final int SIZE = 48;

        @C("lkey")
        static final int LKEY = 36;

        @C("rkey")
        static final int RKEY = 40;

        private Mr() {}
    }

    /** <pre>{@code struct ibv_comp_channel { struct ibv_context *context; int fd; int refcnt; };}</pre> */
    @C("ibv_comp_channel")
    static final class CompChannel {
        @C("sizeof")
        static final int SIZE = 16;

        @C("fd")
        static final int FD = 8;

        private CompChannel() {}
    }

    /**
     * <pre>{@code
     * struct ibv_qp {
     *     struct ibv_context *context; void *qp_context; struct ibv_pd *pd; struct ibv_cq *send_cq;
     *     struct ibv_cq *recv_cq; struct ibv_srq *srq; uint32_t handle; uint32_t qp_num; enum ibv_qp_state state;
     *     enum ibv_qp_type qp_type; pthread_mutex_t mutex; pthread_cond_t cond; uint32_t events_completed;
     * };
     * }</pre>
     */
    @C("ibv_qp")
    static final class Qp {
        @C("sizeof")
        static final int SIZE = 160;

        @C("qp_num")
        static final int QP_NUM = 52;

        private Qp() {}
    }

    /**
     * <pre>{@code
     * struct ibv_qp_cap {
     *     uint32_t max_send_wr; uint32_t max_recv_wr; uint32_t max_send_sge; uint32_t max_recv_sge;
     *     uint32_t max_inline_data;
     * };
     * struct ibv_qp_init_attr {
     *     void *qp_context; struct ibv_cq *send_cq; struct ibv_cq *recv_cq; struct ibv_srq *srq; struct ibv_qp_cap cap;
     *     enum ibv_qp_type qp_type; int sq_sig_all;
     * };
     * }</pre>
     */
    @C("ibv_qp_init_attr")
    static final class QpInitAttr {
        @C("sizeof")
        static final int SIZE = 64;

        @C("send_cq")
        static final int SEND_CQ = 8;

        @C("recv_cq")
        static final int RECV_CQ = 16;

        @C("srq")
        static final int SRQ = 24;

        @C("cap.max_send_wr")
        static final int MAX_SEND_WR = 32;

        @C("cap.max_recv_wr")
        static final int MAX_RECV_WR = 36;

        @C("cap.max_send_sge")
        static final int MAX_SEND_SGE = 40;

        @C("cap.max_recv_sge")
        static final int MAX_RECV_SGE = 44;

        @C("cap.max_inline_data")
        static final int MAX_INLINE_DATA = 48;

        @C("qp_type")
        static final int QP_TYPE = 52;

        private QpInitAttr() {}
    }

    /**
     * <pre>{@code
     * struct ibv_srq_attr { uint32_t max_wr; uint32_t max_sge; uint32_t srq_limit; };
     * struct ibv_srq_init_attr { void *srq_context; struct ibv_srq_attr attr; };
     * }</pre>
     */
    @C("ibv_srq_init_attr")
    static final class SrqInitAttr {
        @C("sizeof")
        static final int SIZE = 24;

        @C("attr.max_wr")
        static final int MAX_WR = 8;

        @C("attr.max_sge")
        static final int MAX_SGE = 12;

        private SrqInitAttr() {}
    }

    /**
     * <pre>{@code
     * struct ibv_async_event {
     *     union {
     *         struct ibv_cq *cq; struct ibv_qp *qp; struct ibv_srq *srq; struct ibv_wq *wq; int port_num;
     *     } element;
     *     enum ibv_event_type event_type;
     * };
     * }</pre>
     */
    @C("ibv_async_event")
    static final class AsyncEvent {
        @C("sizeof")
        static final int SIZE = 16;

        @C("element")
        static final int ELEMENT = 0;

        @C("event_type")
        static final int EVENT_TYPE = 8;

        private AsyncEvent() {}
    }
}
