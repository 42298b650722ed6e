/* A network block device (doc/proto.md of NetworkBlockDevice/nbd): fixed newstyle handshake, NBD_CMD_READ, simple replies. All numbers are big-endian. */
#ifndef FARPAGE_SOURCE_NBD_H
#define FARPAGE_SOURCE_NBD_H

#include <endian.h>

#include "page_source.h"

#define NBD_MAGIC 0x4e42444d41474943ull
#define NBD_I_HAVE_OPT 0x49484156454f5054ull
#define NBD_OPTION_REPLY_MAGIC 0x3e889045565a9ull
#define NBD_REQUEST_MAGIC 0x25609513u
#define NBD_SIMPLE_REPLY_MAGIC 0x67446698u

enum { NBD_OPT_GO = 7, NBD_REP_ACK = 1, NBD_REP_INFO = 3, NBD_INFO_EXPORT = 0, NBD_CMD_READ = 0, NBD_CMD_WRITE = 1 };
enum { NBD_FLAG_FIXED_NEWSTYLE = 1, NBD_FLAG_NO_ZEROES = 2, NBD_MOST_INFO = 1024 };

struct __attribute__((packed)) nbd_greeting {
    uint64_t magic, option_magic;
    uint16_t flags;
};

struct __attribute__((packed)) nbd_go {
    uint32_t client_flags;
    uint64_t option_magic;
    uint32_t option, length, name_length;
    uint16_t infos;
};

struct __attribute__((packed)) nbd_option_reply {
    uint64_t magic;
    uint32_t option, type, length;
};

struct __attribute__((packed)) nbd_export {
    uint16_t info;
    uint64_t size;
    uint16_t flags;
};

struct __attribute__((packed)) nbd_request {
    uint32_t magic;
    uint16_t flags, command;
    uint64_t cookie, offset;
    uint32_t length;
};

struct __attribute__((packed)) nbd_reply {
    uint32_t magic, error;
    uint64_t cookie;
};

_Static_assert(sizeof(struct nbd_request) == 28, "a request is 28 bytes");
_Static_assert(sizeof(struct nbd_reply) == 16, "a simple reply is 16 bytes");

static inline void nbd_read(int fd, void *to, size_t size) {
    for (size_t held = 0; held < size;) {
        size_t n = receive_blocking(fd, (char *) to + held, size - held, MSG_WAITALL);
        if (n == 0) {
            fail("the NBD server has closed the connection during the handshake");
        }
        held += n;
    }
}

/* Chooses the default export, which must have room for all pages. */
static inline void nbd_greet(int fd, const struct options *o) {
    struct nbd_greeting greeting;
    nbd_read(fd, &greeting, sizeof greeting);
    uint16_t flags = be16toh(greeting.flags);
    if (be64toh(greeting.magic) != NBD_MAGIC || be64toh(greeting.option_magic) != NBD_I_HAVE_OPT
            || (flags & NBD_FLAG_FIXED_NEWSTYLE) == 0) {
        fail("the NBD server does not offer the fixed newstyle handshake");
    }
    struct nbd_go go = {.client_flags = htobe32(flags & (NBD_FLAG_FIXED_NEWSTYLE | NBD_FLAG_NO_ZEROES)),
            .option_magic = htobe64(NBD_I_HAVE_OPT), .option = htobe32(NBD_OPT_GO),
            .length = htobe32(sizeof go.name_length + sizeof go.infos)};
    struct iovec vector = {&go, sizeof go};
    send_all(fd, &vector, 1, false);
    for (uint64_t size = 0;;) {
        struct nbd_option_reply reply;
        char info[NBD_MOST_INFO];
        nbd_read(fd, &reply, sizeof reply);
        uint32_t type = be32toh(reply.type);
        uint32_t length = be32toh(reply.length);
        if (be64toh(reply.magic) != NBD_OPTION_REPLY_MAGIC || length > sizeof info) {
            fail("the NBD server does not answer NBD_OPT_GO");
        }
        nbd_read(fd, info, length);
        struct nbd_export export;
        if (type == NBD_REP_INFO && length == sizeof export) {
            memcpy(&export, info, sizeof export);
            size = be16toh(export.info) == NBD_INFO_EXPORT ? be64toh(export.size) : size;
        } else if (type == NBD_REP_ACK) {
            if (size < o->pages * o->page_size) {
                fail("the NBD export has %" PRIu64 " bytes, and %" PRIu64 " pages need more", size, o->pages);
            }
            return;
        } else if (type != NBD_REP_INFO) {
            fail("the NBD server refuses the export: reply 0x%x", type);
        }
    }
}

static inline size_t nbd_put(char *to, uint16_t command, uint64_t page, uint64_t cookie, const struct options *o) {
    struct nbd_request request = {.magic = htobe32(NBD_REQUEST_MAGIC), .command = htobe16(command), .cookie = htobe64(cookie),
            .offset = htobe64(page * o->page_size), .length = htobe32((uint32_t) o->page_size)};
    memcpy(to, &request, sizeof request);
    return sizeof request;
}

static inline size_t nbd_ask(char *to, uint64_t page, uint64_t index, const struct options *o) {
    return nbd_put(to, NBD_CMD_READ, page, index, o);
}

static inline size_t nbd_store(char *to, uint64_t page, const struct options *o) {
    return nbd_put(to, NBD_CMD_WRITE, page, 0, o);
}

/* Magic number, and no error. */
static inline struct text nbd_begins(const struct options *o) {
    (void) o;
    return (struct text) {"\x67\x44\x66\x98\0\0\0\0", 8};
}

/* A server may answer in another order. */
static inline uint64_t nbd_index(const char *header, uint64_t next) {
    (void) next;
    struct nbd_reply reply;
    memcpy(&reply, header, sizeof reply);
    return be64toh(reply.cookie);
}

static const struct page_protocol nbd_protocol = {.name = "the NBD server", .greet = nbd_greet, .ask = nbd_ask,
        .store = nbd_store, .begins = nbd_begins, .index = nbd_index, .header = sizeof(struct nbd_reply),
        .stored = {"\x67\x44\x66\x98\0\0\0\0\0\0\0\0\0\0\0\0", 16}};

#endif
