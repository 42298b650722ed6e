package io.farpage.verbs.ibverbs;

/**
 * The structure that moves a queue pair between states, and the masks that select its fields.
 *
 * <pre>{@code
 * struct ibv_global_route {
 *     union ibv_gid dgid; uint32_t flow_label; uint8_t sgid_index; uint8_t hop_limit; uint8_t traffic_class;
 * };
 * struct ibv_ah_attr {
 *     struct ibv_global_route grh; uint16_t dlid; uint8_t sl; uint8_t src_path_bits; uint8_t static_rate;
 *     uint8_t is_global; uint8_t port_num;
 * };
 * struct ibv_qp_attr {
 *     enum ibv_qp_state qp_state; enum ibv_qp_state cur_qp_state; enum ibv_mtu path_mtu;
 *     enum ibv_mig_state path_mig_state; uint32_t qkey; uint32_t rq_psn; uint32_t sq_psn; uint32_t dest_qp_num;
 *     unsigned int qp_access_flags;
 *     struct ibv_qp_cap cap; struct ibv_ah_attr ah_attr; struct ibv_ah_attr alt_ah_attr; uint16_t pkey_index;
 *     uint16_t alt_pkey_index; uint8_t en_sqd_async_notify; uint8_t sq_draining; uint8_t max_rd_atomic;
 *     uint8_t max_dest_rd_atomic; uint8_t min_rnr_timer; uint8_t port_num; uint8_t timeout; uint8_t retry_cnt;
 *     uint8_t rnr_retry; uint8_t alt_port_num; uint8_t alt_timeout; uint32_t rate_limit;
 * };
 * }</pre>
 */
@C("ibv_qp_attr")
final class QpAttr {
    @C("sizeof")
    static final int SIZE = 144;

    @C("qp_state")
    static final int QP_STATE = 0;

    @C("path_mtu")
    static final int PATH_MTU = 8;

    @C("rq_psn")
    static final int RQ_PSN = 20;

    @C("sq_psn")
    static final int SQ_PSN = 24;

    @C("dest_qp_num")
    static final int DEST_QP_NUM = 28;

    @C("qp_access_flags")
    static final int QP_ACCESS_FLAGS = 32;

    @C("ah_attr.grh.dgid")
    static final int DGID = 56;

    @C("ah_attr.grh.sgid_index")
    static final int SGID_INDEX = 76;

    @C("ah_attr.grh.hop_limit")
    static final int HOP_LIMIT = 77;

    @C("ah_attr.grh.traffic_class")
    static final int TRAFFIC_CLASS = 78;

    @C("ah_attr.dlid")
    static final int DLID = 80;

    @C("ah_attr.sl")
    static final int SL = 82;

    @C("ah_attr.is_global")
    static final int IS_GLOBAL = 85;

    @C("ah_attr.port_num")
    static final int AH_PORT_NUM = 86;

    @C("pkey_index")
    static final int PKEY_INDEX = 120;

    @C("max_rd_atomic")
    static final int MAX_RD_ATOMIC = 126;

    @C("max_dest_rd_atomic")
    static final int MAX_DEST_RD_ATOMIC = 127;

    @C("min_rnr_timer")
    static final int MIN_RNR_TIMER = 128;

    @C("port_num")
    static final int PORT_NUM = 129;

    @C("timeout")
    static final int TIMEOUT = 130;

    @C("retry_cnt")
    static final int RETRY_CNT = 131;

    @C("rnr_retry")
    static final int RNR_RETRY = 132;

    private QpAttr() {}

    /** {@code enum ibv_qp_attr_mask} and {@code enum ibv_qp_state}: values rather than offsets. */
    @C("enum")
    static final class Value {
        @C("IBV_QP_STATE")
        static final int MASK_STATE = 1;

        @C("IBV_QP_ACCESS_FLAGS")
        static final int MASK_ACCESS_FLAGS = 1 << 3;

        @C("IBV_QP_PKEY_INDEX")
        static final int MASK_PKEY_INDEX = 1 << 4;

        @C("IBV_QP_PORT")
        static final int MASK_PORT = 1 << 5;

        @C("IBV_QP_AV")
        static final int MASK_AV = 1 << 7;

        @C("IBV_QP_PATH_MTU")
        static final int MASK_PATH_MTU = 1 << 8;

        @C("IBV_QP_TIMEOUT")
        static final int MASK_TIMEOUT = 1 << 9;

        @C("IBV_QP_RETRY_CNT")
        static final int MASK_RETRY_CNT = 1 << 10;

        @C("IBV_QP_RNR_RETRY")
        static final int MASK_RNR_RETRY = 1 << 11;

        @C("IBV_QP_RQ_PSN")
        static final int MASK_RQ_PSN = 1 << 12;

        @C("IBV_QP_MAX_QP_RD_ATOMIC")
        static final int MASK_MAX_QP_RD_ATOMIC = 1 << 13;

        @C("IBV_QP_MIN_RNR_TIMER")
        static final int MASK_MIN_RNR_TIMER = 1 << 15;

        @C("IBV_QP_SQ_PSN")
        static final int MASK_SQ_PSN = 1 << 16;

        @C("IBV_QP_MAX_DEST_RD_ATOMIC")
        static final int MASK_MAX_DEST_RD_ATOMIC = 1 << 17;

        @C("IBV_QP_DEST_QPN")
        static final int MASK_DEST_QPN = 1 << 20;

        @C("IBV_QPS_RESET")
        static final int QPS_RESET = 0;

        @C("IBV_QPS_INIT")
        static final int QPS_INIT = 1;

        @C("IBV_QPS_RTR")
        static final int QPS_RTR = 2;

        @C("IBV_QPS_RTS")
        static final int QPS_RTS = 3;

        @C("IBV_QPS_ERR")
        static final int QPS_ERR = 6;

        @C("IBV_QPT_RC")
        static final int QPT_RC = 2;

        private Value() {}
    }
}
