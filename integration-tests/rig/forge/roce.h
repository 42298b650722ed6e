/*
 * RoCE v2 packets, made by hand: IPv4, UDP to port 4791, the transport headers of a reliable connection, and the checksum over all that routers
 * leave alone (IBTA volume 1, annex A17). A packet that a device takes for one of its peer's needs nothing but these bytes.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ROCE_PORT 4791
#define IP_BYTES 20
#define UDP_BYTES 8
#define BTH_BYTES 12
#define ICRC_BYTES 4
#define BTH_AT (IP_BYTES + UDP_BYTES)

enum opcode { WRITE_ONLY = 0x0a, READ_REQUEST = 0x0c, COMPARE_SWAP = 0x13, FETCH_ADD = 0x14 };

/* A request as its sender may claim it to be. Addresses are in network order. */
struct packet {
    uint32_t source, destination;
    uint32_t qpn, psn;
    uint16_t pkey;
    enum opcode opcode;
    uint64_t address;
    uint32_t rkey, length;
    int spoil_checksum;
};

static uint32_t crc_table[256];

static void make_crc_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
        crc_table[i] = crc;
    }
}

static uint32_t crc32_of(uint32_t crc, const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) crc = crc_table[(crc ^ bytes[i]) & 0xff] ^ crc >> 8;
    return crc;
}

static uint8_t *put16(uint8_t *at, uint16_t value) {
    at[0] = (uint8_t) (value >> 8);
    at[1] = (uint8_t) value;
    return at + 2;
}

static uint8_t *put32(uint8_t *at, uint32_t value) {
    return put16(put16(at, (uint16_t) (value >> 16)), (uint16_t) value);
}

static uint8_t *put64(uint8_t *at, uint64_t value) {
    return put32(put32(at, (uint32_t) (value >> 32)), (uint32_t) value);
}

/* The invariant checksum: what routers change counts as ones, as do the eight bytes of the InfiniBand header that RoCE leaves out. */
static uint32_t checksum(const uint8_t *packet, size_t end) {
    uint8_t masked[BTH_AT + BTH_BYTES];
    memcpy(masked, packet, sizeof masked);
    masked[1] = 0xff;                               /* type of service */
    masked[8] = 0xff;                               /* time to live */
    memset(masked + 10, 0xff, 2);                   /* IP checksum */
    memset(masked + IP_BYTES + 6, 0xff, 2);         /* UDP checksum */
    masked[BTH_AT + 4] = 0xff;                      /* reserved */
    uint32_t crc = crc32_of(0xdebb20e3u, masked, sizeof masked);
    return ~crc32_of(crc, packet + sizeof masked, end - sizeof masked);
}

/* Of an IP header whose own checksum is still 0. */
static uint16_t internet_checksum(const uint8_t *header) {
    uint32_t sum = 0;
    for (int i = 0; i < IP_BYTES; i += 2) sum += (uint32_t) header[i] << 8 | header[i + 1];
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t) ~sum;
}

/* Writes the packet to `bytes`, a WRITE's data from `data`; returns its size. */
static size_t encode(uint8_t *bytes, const struct packet *p, const uint8_t *data) {
    uint8_t *at = bytes + BTH_AT;
    *at++ = (uint8_t) p->opcode;
    *at++ = 0x40;                                   /* migrated, no padding */
    at = put16(at, p->pkey);
    at = put32(at, p->qpn & 0xffffff);
    at = put32(at, 0x80000000u | (p->psn & 0xffffff)); /* asks for an acknowledgement */
    at = put64(at, p->address);
    at = put32(at, p->rkey);
    if (p->opcode == COMPARE_SWAP || p->opcode == FETCH_ADD) {
        at = put64(at, UINT64_MAX);                 /* the value to swap in or to add */
        at = put64(at, 0);
    } else {
        at = put32(at, p->length);
    }
    if (p->opcode == WRITE_ONLY) {
        memcpy(at, data, p->length);
        at += p->length;
    }
    size_t size = (size_t) (at - bytes) + ICRC_BYTES;
    static uint16_t identification;
    uint8_t *ip = bytes;
    *ip++ = 0x45;
    *ip++ = 0;
    ip = put16(ip, (uint16_t) size);
    ip = put16(ip, ++identification ? identification : ++identification);
    ip = put16(ip, 0x4000);                         /* do not fragment */
    *ip++ = 64;
    *ip++ = 17;
    uint8_t *header_checksum = ip;
    ip = put16(ip, 0);
    memcpy(ip, &p->source, 4);
    memcpy(ip + 4, &p->destination, 4);
    put16(header_checksum, internet_checksum(bytes));
    uint8_t *udp = bytes + IP_BYTES;
    udp = put16(udp, 0xc000 | (uint16_t) (p->psn & 0x3fff));
    udp = put16(udp, ROCE_PORT);
    udp = put16(udp, (uint16_t) (size - IP_BYTES));
    put16(udp, 0);
    uint32_t crc = checksum(bytes, size - ICRC_BYTES);
    if (p->spoil_checksum) crc ^= 1u << p->spoil_checksum % 32;
    memcpy(at, &crc, ICRC_BYTES);                   /* little-endian, as all numbers of x86 */
    return size;
}
