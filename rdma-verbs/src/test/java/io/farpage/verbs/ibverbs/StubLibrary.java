package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A libibverbs that the C compiler makes for a test, with one device that is made of its variables: a test sets what
 * the device is like, and reads what it was asked for. Without a compiler the test is skipped.
 */
final class StubLibrary {
    static final String DEVICE = "stub0";

    private static final String SOURCE = """
        #include <errno.h>
        #include <stdint.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>

        #define AT(type, pointer, offset) (*(type *)((char *)(pointer) + (offset)))

        /* What the device is like: IBV_TRANSPORT_IB, IBV_LINK_LAYER_INFINIBAND, an error number. */
        volatile int stub_transport = 0, stub_link_layer = 1, stub_port_flags = 0, stub_create_qp_error = 0;
        /* Whether an event is removed before it is read, and whether registering takes until it is cleared. */
        volatile int stub_event_goes = 0, stub_registering_takes_long = 0;
        /* What it was asked for. */
        volatile int stub_registering = 0, stub_opened = 0;
        unsigned char stub_attr[144];

        static char device[1024];
        static char *devices[] = {device, 0};
        static int events[2];
        static struct { uint64_t id; uint32_t qp; } flushed[64];
        static int flushed_count;

        static int poll_cq(void *cq, int count, char *wc) {
            int n = 0;
            for (; n < count && n < flushed_count; n++) {
                memset(wc + 48 * n, 0, 48);
                AT(uint64_t, wc, 48 * n) = flushed[n].id;
                AT(int, wc, 48 * n + 8) = 5; /* IBV_WC_WR_FLUSH_ERR */
                AT(uint32_t, wc, 48 * n + 28) = flushed[n].qp;
            }
            flushed_count = 0;
            return n;
        }
        static int req_notify_cq(void *cq, int solicited) { return 0; }
        static int post_send(void *qp, char *wr, void *bad) {
            for (; wr; wr = AT(char *, wr, 8)) {
                if (AT(int, qp, 56) == 6) { /* IBV_QPS_ERR */
                    flushed[flushed_count].id = AT(uint64_t, wr, 0);
                    flushed[flushed_count++].qp = AT(uint32_t, qp, 52);
                }
            }
            return 0;
        }
        static int post_recv(void *qp, char *wr, void *bad) { return 0; }

        void **ibv_get_device_list(int *count) {
            AT(int, device, 20) = stub_transport;
            strcpy(device + 24, "stub0");
            *count = 1;
            return (void **)devices;
        }
        void ibv_free_device_list(void *list) {}
        const char *ibv_get_device_name(void *any) { return device + 24; }
        void *ibv_open_device(void *any) {
            char *context = calloc(1, 328);
            stub_opened++;
            AT(void *, context, 96) = poll_cq;
            AT(void *, context, 104) = req_notify_cq;
            AT(void *, context, 168) = post_recv;
            AT(void *, context, 208) = post_send;
            AT(void *, context, 216) = post_recv;
            if (pipe(events)) return 0;
            AT(int, context, 268) = events[0];
            return context;
        }
        int ibv_close_device(void *context) {
            close(events[0]);
            close(events[1]);
            return 0;
        }
        int ibv_query_device(void *context, char *attr) {
            static const int limits[] = {108, 112, 120, 124, 132, 136, 144, 156, 216};
            for (int i = 0; i < 9; i++) AT(int, attr, limits[i]) = 16;
            AT(int, attr, 112) = AT(int, attr, 132) = 1024;
            AT(uint64_t, attr, 80) = 1ull << 40;
            attr[227] = 1;
            return 0;
        }
        int ibv_query_port(void *context, uint8_t port, char *attr) {
            AT(int, attr, 0) = 4; /* IBV_PORT_ACTIVE */
            AT(int, attr, 8) = 5;
            AT(int, attr, 12) = 1;
            AT(uint32_t, attr, 20) = 1u << 30;
            AT(uint16_t, attr, 34) = 7;
            attr[46] = stub_link_layer;
            attr[47] = stub_port_flags;
            return 0;
        }
        int ibv_query_gid(void *context, uint8_t port, int index, unsigned char *gid) {
            memset(gid, 0, 16);
            gid[0] = 0xfe;
            gid[1] = 0x80;
            gid[15] = 1;
            return 0;
        }
        long _ibv_query_gid_table(void *context, char *entries, size_t max, uint32_t flags, size_t size) {
            memset(entries, 0, 32);
            AT(int, entries, 20) = 1;
            ibv_query_gid(context, 1, 0, (unsigned char *)entries);
            return 1;
        }
        void *ibv_alloc_pd(void *context) { return calloc(1, 64); }
        void *ibv_create_comp_channel(void *context) { return calloc(1, 64); }
        void *ibv_create_cq(void *context, int cqe, void *own, void *channel, int vector) { return calloc(1, 256); }
        void *ibv_create_srq(void *pd, void *attr) { return calloc(1, 256); }
        void *ibv_create_qp(void *pd, void *attr) {
            static uint32_t number = 16;
            char *qp = calloc(1, 160);
            if (stub_create_qp_error) {
                errno = stub_create_qp_error;
                return 0;
            }
            AT(uint32_t, qp, 52) = number++;
            return qp;
        }
        int ibv_modify_qp(void *qp, void *attr, int mask) {
            memcpy(stub_attr, attr, sizeof stub_attr);
            AT(int, qp, 56) = AT(int, attr, 0);
            return 0;
        }
        int ibv_query_qp(void *qp, void *attr, int mask, void *init) {
            AT(int, attr, 0) = AT(int, qp, 56);
            return 0;
        }
        void *ibv_reg_mr(void *pd, void *address, size_t length, int access) {
            stub_registering++;
            while (stub_registering_takes_long) usleep(100);
            stub_registering--;
            return calloc(1, 48);
        }
        int ibv_get_cq_event(void *channel, void **cq, void **context) { return -1; }
        void ibv_ack_cq_events(void *cq, unsigned count) {}
        void stub_raise(void) { if (write(events[1], "e", 1) != 1) abort(); }
        int ibv_get_async_event(void *context, void *event) {
            char one;
            if (stub_event_goes && read(events[0], &one, 1) != 1) abort();
            memset(event, 0, 16);
            AT(int, event, 8) = 9; /* IBV_EVENT_PORT_ACTIVE */
            AT(int, event, 0) = 1;
            return read(events[0], &one, 1) == 1 ? 0 : -1;
        }
        void ibv_ack_async_event(void *event) {}
        int ibv_dealloc_pd(void *any) { return 0; }
        int ibv_dereg_mr(void *any) { return 0; }
        int ibv_destroy_cq(void *any) { return 0; }
        int ibv_destroy_qp(void *any) { return 0; }
        int ibv_destroy_srq(void *any) { return 0; }
        int ibv_destroy_comp_channel(void *any) { return 0; }
        """;

    private final Path library;
    private final SymbolLookup symbols;
    private final Host host;

    @SuppressWarnings("restricted") // the library is the test's own
    private StubLibrary(Path library, Host host) {
        this.library = library;
        this.host = host;
        // SAFETY: the arena is the global one, so no address outlives the library.
        this.symbols = SymbolLookup.libraryLookup(library, Arena.global());
    }

    static StubLibrary compile(Path directory) throws IOException, InterruptedException {
        Host host = new Host(directory.resolve("sys"), directory.resolve("dev"), directory.resolve("proc"));
        Files.createDirectories(host.sys().resolve("class/infiniband").resolve(DEVICE));
        Files.createDirectories(host.sys().resolve("class/infiniband_verbs"));
        return new StubLibrary(CCompiler.compile(directory, "libstub.so", SOURCE, "-shared", "-fPIC"), host);
    }

    /** Gives a device a node, and replaces a node of the same name. */
    void node(String name, String device) throws IOException {
        Path nodes = host.sys().resolve("class/infiniband_verbs");
        Path made = Files.createDirectory(nodes.resolve("new"));
        Files.writeString(made.resolve("ibdev"), device + "\n");
        removeNode(name);
        Files.move(made, nodes.resolve(name));
    }

    void removeNode(String name) throws IOException {
        Path node = host.sys().resolve("class/infiniband_verbs").resolve(name);
        Files.deleteIfExists(node.resolve("ibdev"));
        Files.deleteIfExists(node);
    }

    /** Renames the device of a node. */
    void rename(String node, String device) throws IOException {
        Files.writeString(
                host.sys().resolve("class/infiniband_verbs").resolve(node).resolve("ibdev"), device + "\n");
    }

    IbverbsProvider provider() {
        return new IbverbsProvider(IbvOptions.DEFAULT.withLibrary(library), host);
    }

    void set(String variable, int value) {
        at(variable, Integer.BYTES).set(JAVA_INT, 0, value);
    }

    int get(String variable) {
        return at(variable, Integer.BYTES).get(JAVA_INT, 0);
    }

    /** What the latest {@code ibv_modify_qp} was given: {@code struct ibv_qp_attr}. */
    MemorySegment attr() {
        return at("stub_attr", QpAttr.SIZE);
    }

    /** Makes the device raise an asynchronous event. */
    @SuppressWarnings("restricted") // the library is the test's own
    void raise() {
        try {
            // SAFETY: the source above declares the function like this.
            Linker.nativeLinker()
                    .downcallHandle(symbols.findOrThrow("stub_raise"), FunctionDescriptor.ofVoid())
                    .invokeExact();
        } catch (Throwable t) {
            throw new IllegalStateException(t);
        }
    }

    @SuppressWarnings("restricted") // the library is the test's own
    private MemorySegment at(String variable, long size) {
        // SAFETY: the source above declares the variable with this size.
        return symbols.findOrThrow(variable).reinterpret(size);
    }
}
