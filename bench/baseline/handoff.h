/*
 * How memory that faults gets from the process that touches it to the one that brings its pages: over a Unix socket, one JSON array of
 * regions with the userfaultfd as SCM_RIGHTS, as Firecracker sends it, and behind that the memfd, if the memory has one.
 */
#ifndef FARPAGE_HANDOFF_H
#define FARPAGE_HANDOFF_H

#include <sys/un.h>
#include <unistd.h>

#include "wire.h"

static inline struct sockaddr_un socket_address(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        fail("%s: too long for a socket's path, which has at most %zu bytes", path, sizeof address.sun_path - 1);
    }
    strcpy(address.sun_path, path);
    return address;
}

/* The connection stays open for as long as the memory is used. */
static inline int hand_over(const char *path, void *memory, size_t size, size_t page_size, int uffd, int file) {
    struct sockaddr_un address = socket_address(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *) &address, sizeof address) != 0) {
        fail("nobody takes memory at %s: %s", path, strerror(errno));
    }
    char text[160];
    int length = snprintf(text, sizeof text,
            "[{\"base_host_virt_addr\":%" PRIuPTR ",\"size\":%zu,\"offset\":0,\"page_size\":%zu,\"page_size_kib\":%zu}]",
            (uintptr_t) memory, size, page_size, page_size);
    int descriptors[2] = {uffd, file};
    size_t bytes = sizeof(int) * (file < 0 ? 1 : 2);
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof descriptors)];
    } control = {0};
    struct iovec vector = {text, (size_t) length};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.room};
    message.msg_controllen = CMSG_SPACE(bytes);
    control.header = (struct cmsghdr) {.cmsg_len = CMSG_LEN(bytes), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), descriptors, bytes);
    if (sendmsg(fd, &message, MSG_NOSIGNAL) != length) {
        fail("sendmsg to %s: %s", path, strerror(errno));
    }
    return fd;
}

struct guest {
    int connection; /* ends with whoever touches the memory */
    int uffd;
    int file;       /* -1 if there is none */
    uint64_t base;
};

static inline struct guest take_over(int listening) {
    struct guest guest = {.connection = accept(listening, NULL, NULL), .uffd = -1, .file = -1};
    char text[4096];
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec vector = {text, sizeof text - 1};
    struct msghdr message = {
            .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control};
    ssize_t length = guest.connection < 0 ? -1 : recvmsg(guest.connection, &message, MSG_CMSG_CLOEXEC);
    if (length <= 0) {
        fail("no memory was handed over: %s", length == 0 ? "the connection was closed" : strerror(errno));
    }
    text[length] = '\0';
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    const char *base = strstr(text, "\"base_host_virt_addr\":");
    if (header == NULL || header->cmsg_type != SCM_RIGHTS || base == NULL) {
        fail("'%s' came without a descriptor, or names no address", text);
    }
    int descriptors[2] = {-1, -1};
    memcpy(descriptors, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
    guest.uffd = descriptors[0];
    guest.file = descriptors[1];
    guest.base = strtoull(strchr(base, ':') + 1, NULL, 10);
    return guest;
}

#endif
