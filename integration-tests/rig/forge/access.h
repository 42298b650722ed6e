/* Draws accesses that a target must refuse. Needs target.h. */

enum reason {
    UNKNOWN_KEY, ALTERED_KEY, KEY_OF_ANOTHER_REGION, DEREGISTERED_KEY, KEY_OF_ANOTHER_DOMAIN, OUTSIDE_BY_LITTLE, ANY_ADDRESS, WRAPS_AROUND,
    NOT_PERMITTED, REASONS
};
#define KEY_REASONS OUTSIDE_BY_LITTLE /* those before it are about the key, the others about the range or the right */
static const char *const reason_names[] = {"unknown key", "altered key", "key of another region", "deregistered key", "key of another domain",
    "a byte or a page outside", "any address", "wraps around", "not permitted"};

enum operation { READ, WRITE, SWAP, ADD, OPERATIONS };
static const char *const operation_names[] = {"READ", "WRITE", "compare and swap", "fetch and add"};

struct access {
    enum reason reason;
    enum operation operation;
    uint64_t address;
    uint32_t length, rkey;
};

static uint64_t state = 1;

static uint64_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static uint64_t below(uint64_t bound) {
    return draw() % bound;
}

static int is_atomic(enum operation o) {
    return o == SWAP || o == ADD;
}

static uint64_t aligned(enum operation o, uint64_t address) {
    return is_atomic(o) ? address & ~7ull : address;
}

static uint32_t altered(const struct target *t) {
    uint32_t key;
    do {
        uint32_t right = t->regions[below(OPEN_REGIONS)].rkey;
        uint64_t choice = below(34);
        key = choice < 32 ? right ^ 1u << choice : choice == 32 ? right + 1 : right - 1;
    } while (opens(t, key));
    return key;
}

static int needed(enum operation o) {
    return o == READ ? READ_RIGHT : o == WRITE ? WRITE_RIGHT : ATOMIC_RIGHT;
}

/* An access of `longest` bytes at most. */
static struct access forge_operation(const struct target *t, enum operation operation, enum reason reason, uint32_t longest) {
    struct access a = {.reason = reason, .operation = operation};
    const struct region *r = &t->regions[below(OPEN_REGIONS)];
    if (a.reason == DEREGISTERED_KEY) r = &t->regions[DEREGISTERED];
    if (a.reason == KEY_OF_ANOTHER_DOMAIN) r = &t->regions[FOREIGN];
    while (a.reason == NOT_PERMITTED && r->rights & needed(a.operation)) r = &t->regions[below(OPEN_REGIONS)];
    if (a.reason == WRAPS_AROUND && is_atomic(a.operation)) a.operation = READ;
    static const uint32_t lengths[] = {4, 8, 64, 1024, PAGE};
    do a.length = is_atomic(a.operation) ? 8 : lengths[below(sizeof lengths / sizeof *lengths)]; while (a.length > longest);
    a.rkey = r->rkey;
    a.address = aligned(a.operation, r->address + below(r->length - a.length + 1));
    switch (a.reason) {
        case UNKNOWN_KEY: do a.rkey = (uint32_t) draw(); while (opens(t, a.rkey)); break;
        case ALTERED_KEY: a.rkey = altered(t); break;
        case KEY_OF_ANOTHER_REGION: do a.rkey = t->regions[below(OPEN_REGIONS)].rkey; while (a.rkey == r->rkey); break;
        case OUTSIDE_BY_LITTLE: {
            uint64_t by = below(2) ? PAGE : is_atomic(a.operation) ? 8 : 1;
            a.address = below(2) ? r->address - by : r->address + r->length - a.length + by;
            break;
        }
        case ANY_ADDRESS: do a.address = aligned(a.operation, draw()); while (a.address - r->address < r->length); break;
        case WRAPS_AROUND: a.address = UINT64_MAX - below(a.length); break;
        default: break;
    }
    return a;
}

static struct access forge(const struct target *t, uint32_t longest) {
    return forge_operation(t, below(OPERATIONS), below(REASONS), longest);
}

static void print_reasons(const char *what, const uint64_t *reasons) {
    printf("# result:   %s by kind:", what);
    for (int i = 0; i < REASONS; i++) printf("%s %s %" PRIu64, i ? "," : "", reason_names[i], reasons[i]);
    printf("\n");
}
