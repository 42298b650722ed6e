/*
 * Forged packets from an interface on the device's wire. The queue pairs that they are meant for are connected to queue pair numbers that do not exist;
 * what they answer arrives at the interface. Needs roce.h, access.h and requests.h.
 */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#define ABSENT 0xfeed00u /* the first of 256 numbers of queue pairs that do not exist */
#define GUESSES 256
#define BATCHES_BETWEEN_ACCESSES 4
#define AETH_AT (BTH_AT + BTH_BYTES)
#define LONGEST (AETH_AT + 64 + PAGE)

enum { ACKNOWLEDGE = 0x11, READ_RESPONSE_ONLY = 0x10, ACCESS_ERROR = 0x62 };

enum guess { WRONG_QUEUE_PAIR, FUTURE_PSN, PAST_PSN, WRONG_SOURCE, WRONG_PARTITION, WRONG_CHECKSUM, REPEATED_READ, GUESS_KINDS };
static const char *const guess_names[] = {"the queue pair", "the PSN, ahead", "the PSN, behind", "the source address", "the partition", "the checksum",
    "a repeated READ's key or address"};

/* Where frames leave and answers arrive. */
struct wire {
    int socket;
    struct sockaddr_ll device;
    uint32_t address;
};

struct packets {
    struct device *device;
    struct target *target;
    struct wire wire;
    uint32_t address;
    struct access last_read;
    struct ibv_qp *guessed, *refusing[PAIRS];
    uint32_t psn; /* that `guessed` expects next */
    uint64_t guesses[GUESS_KINDS], reasons[REASONS], rightful;
};

/* What queue pairs answer to ABSENT…: data, and refusals; neither acknowledgements nor complaints about a PSN. */
static void filter_answers(int in) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, BTH_AT + 4),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffff00),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ABSENT, 0, 7),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, BTH_AT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ACKNOWLEDGE, 0, 4),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AETH_AT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x60, 3, 0),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x60),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x60, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0xffff),
        BPF_STMT(BPF_RET | BPF_K, 0)};
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (setsockopt(in, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program)) fail("SO_ATTACH_FILTER");
}

static FILE *open_attribute(const char *format, const char *name) {
    char path[128];
    snprintf(path, sizeof path, format, name);
    FILE *file = fopen(path, "r");
    if (!file) fail(path);
    return file;
}

/* `interface` is at the other end of the wire of `device`, and `address` is what it takes for its own. */
static struct wire open_wire(const char *device, const char *interface, const char *address) {
    struct wire w = {.socket = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP)), .address = inet_addr(address)};
    if (w.socket < 0) fail("socket(AF_PACKET)");
    filter_answers(w.socket);
    char name[32];
    FILE *file = open_attribute("/sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/1", device);
    if (fscanf(file, "%31s", name) != 1) fail("the device's interface");
    fclose(file);
    w.device = (struct sockaddr_ll) {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_ifindex = (int) if_nametoindex(interface),
        .sll_halen = ETH_ALEN};
    file = open_attribute("/sys/class/net/%s/address", name);
    for (int i = 0; i < ETH_ALEN; i++)
        if (fscanf(file, i ? ":%2hhx" : "%2hhx", &w.device.sll_addr[i]) != 1) fail("the device's hardware address");
    fclose(file);
    if (bind(w.socket, (struct sockaddr *) &w.device, sizeof w.device)) fail(interface);
    int bytes = 8 << 20;
    struct timeval patience = {20, 0};
    if (setsockopt(w.socket, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes)) fail("SO_RCVBUFFORCE");
    if (setsockopt(w.socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience)) fail("SO_RCVTIMEO");
    return w;
}

/* A packet that nothing is wrong with: `a` at queue pair `qp`. */
static struct packet rightful(const struct packets *s, const struct ibv_qp *qp, uint32_t psn, struct access a) {
    static const enum opcode opcodes[] = {READ_REQUEST, WRITE_ONLY, COMPARE_SWAP, FETCH_ADD};
    return (struct packet) {.source = s->wire.address, .destination = s->address, .qpn = qp->qp_num, .psn = psn, .pkey = 0xffff,
        .opcode = opcodes[a.operation], .address = a.address, .rkey = a.rkey, .length = a.length};
}

static void send_packets(struct packets *s, const struct packet *packets, unsigned count, const uint8_t *data) {
    static uint8_t bytes[GUESSES][LONGEST];
    struct mmsghdr messages[GUESSES];
    struct iovec parts[GUESSES];
    for (unsigned i = 0; i < count; i++) {
        parts[i] = (struct iovec) {bytes[i], encode(bytes[i], &packets[i], data)};
        messages[i].msg_hdr = (struct msghdr) {.msg_name = &s->wire.device, .msg_namelen = sizeof s->wire.device, .msg_iov = &parts[i], .msg_iovlen = 1};
    }
    for (unsigned sent = 0; sent < count;) {
        int more = sendmmsg(s->wire.socket, messages + sent, count - sent, 0);
        if (more <= 0) fail("sendmmsg");
        sent += (unsigned) more;
    }
}

/* The next data or refusal. */
static ssize_t receive(struct packets *s, uint8_t *into, const char *awaited) {
    ssize_t size = recv(s->wire.socket, into, LONGEST, 0);
    if (size < AETH_AT + 4 + ICRC_BYTES) {
        fprintf(stderr, "forge: no %s within 20 s\n", awaited);
        exit(1);
    }
    return size;
}

/* With every number right a stranger's packets WRITE and READ. In the order of PSNs, so all packets sent before have been looked at. */
static void use_every_number(struct packets *s) {
    const struct region *r = &s->target->regions[SPACE];
    struct access a = {.operation = WRITE, .address = r->address + below(r->length - DATA + 1), .length = DATA, .rkey = r->rkey};
    uint8_t data[DATA], said[LONGEST];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t) draw();
    memcpy(s->target->expected + (a.address - (uint64_t) s->target->memory), data, sizeof data);
    struct packet both[2] = {rightful(s, s->guessed, s->psn, a)};
    a.operation = READ;
    s->last_read = a;
    both[1] = rightful(s, s->guessed, s->psn + 1, a);
    send_packets(s, both, 2, data);
    s->psn = (s->psn + 2) & 0xffffff;
    receive(s, said, "answer to a rightful READ");
    if (said[BTH_AT] != READ_RESPONSE_ONLY || memcmp(said + AETH_AT + 4, data, sizeof data)) wrong("another answer than the data of", a);
    if (first_change(s->target) >= 0) wrong("bytes were written by a packet before", a);
    s->rightful++;
}

static int exists(const struct packets *s, uint32_t qpn) {
    for (int i = 0; i < PAIRS; i++)
        if (s->refusing[i]->qp_num == qpn) return 1;
    return qpn < 2 || s->guessed->qp_num == qpn;
}

/* A packet with all numbers right but one. */
static struct packet guess(struct packets *s) {
    const struct region *r = &s->target->regions[SPACE];
    struct access a = {.operation = below(OPERATIONS), .length = DATA, .rkey = r->rkey};
    a.address = aligned(a.operation, r->address + below(r->length - DATA + 1));
    struct packet p = rightful(s, s->guessed, s->psn, a);
    enum guess kind = below(GUESS_KINDS);
    switch (kind) {
        case WRONG_QUEUE_PAIR: do p.qpn = (uint32_t) below(1 << 24); while (exists(s, p.qpn)); break;
        case FUTURE_PSN: p.psn += 2 + (uint32_t) below(1 << 22); break;
        /* Behind the first one that this queue pair ever had: a copy of an answered READ would be answered again, to the peer. */
        case PAST_PSN: p.psn -= (1 << 20) + (uint32_t) below(1 << 22); break;
        case WRONG_SOURCE: p.source = htonl(ntohl(p.source) + 1 + (uint32_t) below(250)); break;
        case WRONG_PARTITION: p.pkey = (uint16_t) (1 + below(0x7ffe)); break;
        case REPEATED_READ:
            p = rightful(s, s->guessed, s->psn - 1, s->last_read);
            if (below(2)) p.rkey = altered(s->target);
            else do p.address = (uint64_t) s->target->memory + below(TARGET_PAGES * PAGE - DATA); while (p.address == s->last_read.address);
            break;
        default: p.spoil_checksum = 1 + (int) below(32); break;
    }
    s->guesses[kind]++;
    return p;
}

/* Forged accesses in packets that are otherwise right: each ends its queue pair. */
static void burst_of_accesses(struct packets *s, const uint8_t *ink) {
    uint8_t said[LONGEST];
    struct access forged[PAIRS];
    for (uint32_t i = 0; i < PAIRS; i++) {
        uint32_t psn = (uint32_t) below(1 << 24);
        answer(s->device, s->refusing[i], ABSENT + 1 + i, psn);
        forged[i] = forge(s->target, 1024);
        struct packet p = rightful(s, s->refusing[i], psn, forged[i]);
        send_packets(s, &p, 1, ink);
        s->reasons[forged[i].reason]++;
    }
    for (int i = 0; i < PAIRS; i++) {
        receive(s, said, "refusal of a forged access");
        struct access a = forged[(said[BTH_AT + 7] - 1) % PAIRS];
        if (said[BTH_AT] != ACKNOWLEDGE) wrong("bytes were read", a);
        if (said[AETH_AT] != ACCESS_ERROR) wrong("another refusal than remote access error", a);
    }
}

/* No packet since the last rightful READ was answered, and the kernel dropped no answer. */
static void require_all_answers_seen(const struct packets *s) {
    uint8_t more[LONGEST];
    if (recv(s->wire.socket, more, sizeof more, MSG_DONTWAIT) >= 0) {
        fprintf(stderr, "forge: a packet with a wrong number was answered with opcode 0x%02x\n", more[BTH_AT]);
        exit(1);
    }
    struct tpacket_stats dropped;
    socklen_t size = sizeof dropped;
    if (getsockopt(s->wire.socket, SOL_PACKET, PACKET_STATISTICS, &dropped, &size)) fail("PACKET_STATISTICS");
    if (dropped.tp_drops) {
        fprintf(stderr, "forge: %u answers were not seen\n", dropped.tp_drops);
        exit(1);
    }
}

static void forge_packets(struct device *device, struct target *target, struct wire wire, uint64_t count) {
    static struct packets s;
    s = (struct packets) {.device = device, .target = target, .wire = wire};
    static uint8_t ink[PAGE];
    memset(ink, INK, sizeof ink);
    memcpy(&s.address, device->gid.raw + 12, sizeof s.address);
    memcpy(device->peer.raw + 12, &wire.address, sizeof wire.address);
    s.guessed = create_queue_pair(device, IBV_QPT_RC, 8);
    for (int i = 0; i < PAIRS; i++) s.refusing[i] = create_queue_pair(device, IBV_QPT_RC, 8);
    s.psn = (uint32_t) below(1 << 24);
    answer(device, s.guessed, ABSENT, s.psn);
    use_every_number(&s);
    uint64_t done = 0, batches = 0;
    double start = seconds();
    while (done < count) {
        if (batches++ % BATCHES_BETWEEN_ACCESSES == 0) {
            burst_of_accesses(&s, ink);
            done += PAIRS;
        } else {
            struct packet batch[GUESSES];
            for (int i = 0; i < GUESSES; i++) batch[i] = guess(&s);
            send_packets(&s, batch, GUESSES, ink);
            done += GUESSES;
        }
        use_every_number(&s);
        require_all_answers_seen(&s);
    }
    double took = seconds() - start;
    printf("# result: %llu forged packets on the wire: 0 bytes read or written; %llu WRITEs and READs with every number right between them;"
            " %.0f a second\n", (unsigned long long) done, (unsigned long long) s.rightful, (double) done / took);
    for (int i = 0; i < GUESS_KINDS; i++) printf("%s is wrong, all else right: %llu\n", guess_names[i], (unsigned long long) s.guesses[i]);
    for (int i = 0; i < REASONS; i++) printf("the access is wrong (%s), all else right: %llu\n", reason_names[i], (unsigned long long) s.reasons[i]);
    for (int i = 0; i < REGIONS; i++) printf("rkey of region %d: 0x%08x\n", i, target->regions[i].rkey);
    ibv_destroy_qp(s.guessed);
    for (int i = 0; i < PAIRS; i++) ibv_destroy_qp(s.refusing[i]);
}
