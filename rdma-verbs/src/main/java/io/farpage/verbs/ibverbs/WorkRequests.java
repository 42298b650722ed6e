package io.farpage.verbs.ibverbs;

/** The structures of the data path: work requests, what they gather, and how they end. */
final class WorkRequests {
    private WorkRequests() {}

    /** <pre>{@code struct ibv_sge { uint64_t addr; uint32_t length; uint32_t lkey; };}</pre> */
    @C("ibv_sge")
    static final class Sge {
        @C("sizeof")
        static final int SIZE = 16;

        @C("addr")
        static final int ADDR = 0;

        @C("length")
        static final int LENGTH = 8;

        @C("lkey")
        static final int LKEY = 12;

        private Sge() {}
    }

    /**
     * <pre>{@code
     * struct ibv_send_wr {
     *     uint64_t wr_id; struct ibv_send_wr *next; struct ibv_sge *sg_list; int num_sge; enum ibv_wr_opcode opcode;
     *     unsigned int send_flags; union { __be32 imm_data; uint32_t invalidate_rkey; };
     *     union {
     *         struct { uint64_t remote_addr; uint32_t rkey; } rdma;
     *         struct { uint64_t remote_addr; uint64_t compare_add; uint64_t swap; uint32_t rkey; } atomic;
     *         struct { struct ibv_ah *ah; uint32_t remote_qpn; uint32_t remote_qkey; } ud;
     *     } wr;
     *     …
     * };
     * }</pre>
     */
    @C("ibv_send_wr")
    static final class SendWr {
        @C("sizeof")
        static final int SIZE = 128;

        @C("wr_id")
        static final int WR_ID = 0;

        @C("next")
        static final int NEXT = 8;

        @C("sg_list")
        static final int SG_LIST = 16;

        @C("num_sge")
        static final int NUM_SGE = 24;

        @C("opcode")
        static final int OPCODE = 28;

        @C("send_flags")
        static final int SEND_FLAGS = 32;

        @C("wr.rdma.remote_addr")
        static final int REMOTE_ADDR = 40;

        @C("wr.rdma.rkey")
        static final int RKEY = 48;

        private SendWr() {}
    }

    /** {@code enum ibv_wr_opcode}. */
    @C("enum")
    static final class Opcode {
        @C("IBV_WR_RDMA_WRITE")
        static final int RDMA_WRITE = 0;

        @C("IBV_WR_SEND")
        static final int SEND = 2;

        @C("IBV_WR_RDMA_READ")
        static final int RDMA_READ = 4;

        private Opcode() {}
    }

    /**
     * <pre>{@code
     * struct ibv_recv_wr { uint64_t wr_id; struct ibv_recv_wr *next; struct ibv_sge *sg_list; int num_sge; };
     * }</pre>
     */
    @C("ibv_recv_wr")
    static final class RecvWr {
        @C("sizeof")
        static final int SIZE = 32;

        @C("wr_id")
        static final int WR_ID = 0;

        @C("next")
        static final int NEXT = 8;

        @C("sg_list")
        static final int SG_LIST = 16;

        @C("num_sge")
        static final int NUM_SGE = 24;

        private RecvWr() {}
    }

    /**
     * <pre>{@code
     * struct ibv_wc {
     *     uint64_t wr_id; enum ibv_wc_status status; enum ibv_wc_opcode opcode; uint32_t vendor_err; uint32_t byte_len;
     *     union { __be32 imm_data; uint32_t invalidated_rkey; }; uint32_t qp_num; uint32_t src_qp;
     *     unsigned int wc_flags; uint16_t pkey_index; uint16_t slid; uint8_t sl; uint8_t dlid_path_bits;
     * };
     * }</pre>
     */
    @C("ibv_wc")
    static final class Wc {
        @C("sizeof")
        static final int SIZE = 48;

        @C("wr_id")
        static final int WR_ID = 0;

        @C("status")
        static final int STATUS = 8;

        @C("opcode")
        static final int OPCODE = 12;

        @C("vendor_err")
        static final int VENDOR_ERR = 16;

        @C("byte_len")
        static final int BYTE_LEN = 20;

        @C("qp_num")
        static final int QP_NUM = 28;

        private Wc() {}
    }
}
