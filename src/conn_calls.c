/* conn_calls.c - the table of calls in flight. See conn.h.
 *
 * Each call has an entry in a pool. A hash table finds it by its serial, a heap
 * the one whose time is up first. Calls that have ended without their answer
 * stay in the hash table, so that the answer can be dropped when it comes, and in
 * a list, so that the first of them can be forgotten when they are too many. */

#include "conn.h"

#define NONE UINT32_MAX

/* At most so many ended calls are remembered; a later answer to one of those
 * forgotten is handed out like any other message. */
#define MAX_LATE 1024u

typedef struct call {
    dw_reply_fn *done; /* NULL: ended */
    void *context;
    int64_t deadline;
    uint32_t serial;
    uint32_t heap_at;        /* place in the heap, or NONE */
    uint32_t next, previous; /* in the list of free entries or of late ones */
} call;

struct dw_calls {
    uint32_t size; /* of the pool and the heap; the hash table has twice as many slots */
    uint32_t n, late, n_heap;
    uint32_t free; /* the first free entry */
    uint32_t first_late, last_late;
    call *pool;
    uint32_t *heap;
    uint32_t *slots; /* where the serial's hash says, or the next free one from there */
};

/* -- The hash table --------------------------------------------------------------- */

static uint32_t slot_mask(const dw_calls *t)
{
    return 2 * t->size - 1;
}

/* Serials come one after the other: scattered, so that those of long ago are no
 * wall that the new ones have to be carried past. */
static uint32_t home_slot(const dw_calls *t, uint32_t serial)
{
    return (uint32_t)((uint64_t)(serial * 0x9e3779b1u) * (2 * (uint64_t)t->size) >> 32);
}

/* The slot that a serial is in, or the free one where it would be. */
static uint32_t find_slot(const dw_calls *t, uint32_t serial)
{
    uint32_t slot = home_slot(t, serial);
    while (t->slots[slot] != NONE && t->pool[t->slots[slot]].serial != serial)
        slot = (slot + 1) & slot_mask(t);
    return slot;
}

/* Frees a slot, and moves those up that are further on only because of it. */
static void free_slot(dw_calls *t, uint32_t slot)
{
    uint32_t mask = slot_mask(t), hole = slot;
    for (uint32_t at = (slot + 1) & mask; t->slots[at] != NONE; at = (at + 1) & mask) {
        uint32_t home = home_slot(t, t->pool[t->slots[at]].serial);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            t->slots[hole] = t->slots[at];
            hole = at;
        }
    }
    t->slots[hole] = NONE;
}

/* -- The heap ----------------------------------------------------------------------- */

static void place(dw_calls *t, uint32_t at, uint32_t entry)
{
    t->heap[at] = entry;
    t->pool[entry].heap_at = at;
}

static bool sooner(const dw_calls *t, uint32_t a, uint32_t b)
{
    return t->pool[a].deadline < t->pool[b].deadline;
}

static void sift_up(dw_calls *t, uint32_t at, uint32_t entry)
{
    while (at > 0 && sooner(t, entry, t->heap[(at - 1) / 2])) {
        place(t, at, t->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    place(t, at, entry);
}

static void sift_down(dw_calls *t, uint32_t at, uint32_t entry)
{
    for (uint32_t child; (child = 2 * at + 1) < t->n_heap; at = child) {
        if (child + 1 < t->n_heap && sooner(t, t->heap[child + 1], t->heap[child]))
            child++;
        if (!sooner(t, t->heap[child], entry))
            break;
        place(t, at, t->heap[child]);
    }
    place(t, at, entry);
}

static void leave_heap(dw_calls *t, uint32_t entry)
{
    uint32_t at = t->pool[entry].heap_at;
    if (at == NONE)
        return;
    t->pool[entry].heap_at = NONE;
    uint32_t last = t->heap[--t->n_heap];
    if (last == entry)
        return;
    if (at > 0 && sooner(t, last, t->heap[(at - 1) / 2]))
        sift_up(t, at, last);
    else
        sift_down(t, at, last);
}

/* -- The late ones -------------------------------------------------------------------- */

static void join_late(dw_calls *t, uint32_t entry)
{
    t->pool[entry].previous = t->last_late;
    t->pool[entry].next = NONE;
    if (t->last_late != NONE)
        t->pool[t->last_late].next = entry;
    else
        t->first_late = entry;
    t->last_late = entry;
    t->late++;
}

static void leave_late(dw_calls *t, uint32_t entry)
{
    const call *e = &t->pool[entry];
    if (e->previous != NONE)
        t->pool[e->previous].next = e->next;
    else
        t->first_late = e->next;
    if (e->next != NONE)
        t->pool[e->next].previous = e->previous;
    else
        t->last_late = e->previous;
    t->late--;
}

/* -- The pool ------------------------------------------------------------------------- */

static size_t block_size(uint32_t size)
{
    return sizeof(dw_calls) + size * (sizeof(call) + 3 * sizeof(uint32_t));
}

static dw_calls *new_table(const dw_conn *c, uint32_t size)
{
    dw_calls *t = c->allocator->resize(c->allocator->context, NULL, 0, block_size(size));
    if (t == NULL)
        return NULL;
    *t = (dw_calls){.size = size, .first_late = NONE, .last_late = NONE, .pool = (call *)(t + 1)};
    t->heap = (uint32_t *)(t->pool + size);
    t->slots = t->heap + size;
    memset(t->slots, 0xff, 2 * size * sizeof *t->slots);
    for (uint32_t i = 0; i < size; i++)
        t->pool[i].next = i + 1;
    return t;
}

/* Moves into a larger table. All entries of the old one are in use. */
static void move(dw_calls *t, const dw_calls *old)
{
    memcpy(t->pool, old->pool, old->size * sizeof *t->pool);
    memcpy(t->heap, old->heap, old->n_heap * sizeof *t->heap);
    for (uint32_t i = 0; i < old->size; i++)
        t->slots[find_slot(t, t->pool[i].serial)] = i;
    t->n = t->free = old->size;
    t->n_heap = old->n_heap;
    t->late = old->late;
    t->first_late = old->first_late;
    t->last_late = old->last_late;
}

static void drop(dw_calls *t, uint32_t slot)
{
    uint32_t entry = t->slots[slot];
    leave_heap(t, entry);
    free_slot(t, slot);
    if (t->pool[entry].done == NULL)
        leave_late(t, entry);
    t->pool[entry].next = t->free;
    t->free = entry;
    t->n--;
}

void dw_calls_free(dw_conn *c)
{
    if (c->calls != NULL)
        c->allocator->resize(c->allocator->context, c->calls, block_size(c->calls->size), 0);
    c->calls = NULL;
}

bool dw_calls_reserve(dw_conn *c)
{
    dw_calls *old = c->calls;
    if (old != NULL && old->n < old->size)
        return true;
    if (old != NULL && old->size > UINT32_MAX / 8)
        return false;
    dw_calls *t = new_table(c, old != NULL ? 2 * old->size : 4);
    if (t == NULL)
        return false;
    if (old != NULL)
        move(t, old);
    dw_calls_free(c);
    c->calls = t;
    return true;
}

bool dw_calls_idle(const dw_conn *c)
{
    return c->calls != NULL && c->calls->n == 0;
}

/* -- Calls ------------------------------------------------------------------------------ */

bool dw_calls_hold(const dw_conn *c, uint32_t serial)
{
    const dw_calls *t = c->calls;
    return t != NULL && t->slots[find_slot(t, serial)] != NONE;
}

/* Makes an entry one that only drops the answer. */
static void make_late(dw_calls *t, uint32_t entry)
{
    leave_heap(t, entry);
    t->pool[entry].done = NULL;
    join_late(t, entry);
    if (t->late > MAX_LATE)
        drop(t, find_slot(t, t->pool[t->first_late].serial));
}

void dw_calls_add(dw_conn *c, uint32_t serial, int64_t deadline, dw_reply_fn *done, void *context)
{
    dw_calls *t = c->calls;
    uint32_t entry = t->free;
    t->free = t->pool[entry].next;
    t->pool[entry] = (call){
        .done = done, .context = context, .deadline = deadline, .serial = serial, .heap_at = NONE};
    t->slots[find_slot(t, serial)] = entry;
    t->n++;
    if (done == NULL)
        make_late(t, entry);
    else if (deadline != INT64_MAX)
        sift_up(t, t->n_heap++, entry);
}

void dw_calls_forget(dw_conn *c, uint32_t serial)
{
    uint32_t slot = find_slot(c->calls, serial);
    if (c->calls->slots[slot] != NONE)
        drop(c->calls, slot);
}

static void tell(dw_conn *c, const call *e, int code, dw_message *reply)
{
    c->busy = true;
    e->done(e->context, code, reply);
    c->busy = false;
}

bool dw_calls_answer(dw_conn *c, dw_message *m)
{
    dw_calls *t = c->calls;
    if (t == NULL || (m->type != DW_METHOD_RETURN && m->type != DW_ERROR))
        return false;
    uint32_t slot = find_slot(t, m->reply_serial);
    if (t->slots[slot] == NONE)
        return false;
    call e = t->pool[t->slots[slot]];
    drop(t, slot);
    if (e.done != NULL)
        tell(c, &e, m->type == DW_ERROR ? DW_E_REPLY : 0, m);
    return true;
}

void dw_calls_expire(dw_conn *c)
{
    int64_t now = 0;
    while (c->calls != NULL && c->calls->n_heap > 0 && !c->doomed) {
        call e = c->calls->pool[c->calls->heap[0]];
        if (now == 0)
            now = dw_now();
        if (e.deadline > now)
            return;
        make_late(c->calls, c->calls->heap[0]);
        tell(c, &e, DW_E_TIMEOUT, NULL);
    }
}

void dw_calls_end(dw_conn *c, int code)
{
    dw_calls *t = c->calls;
    while (t != NULL && t->n > 0)
        for (uint32_t slot = 0; slot <= slot_mask(t); slot++)
            while (t->slots[slot] != NONE) { /* others move up */
                call e = t->pool[t->slots[slot]];
                drop(t, slot);
                if (e.done != NULL)
                    tell(c, &e, code, NULL);
            }
}

int64_t dw_calls_deadline(const dw_conn *c)
{
    const dw_calls *t = c->calls;
    return t != NULL && t->n_heap > 0 ? t->pool[t->heap[0]].deadline : INT64_MAX;
}

int dw_cancel_call(dw_conn *c, uint32_t serial)
{
    if (c->calls == NULL)
        return DW_E_ARGUMENT;
    uint32_t slot = find_slot(c->calls, serial);
    if (c->calls->slots[slot] == NONE || c->calls->pool[c->calls->slots[slot]].done == NULL)
        return DW_E_ARGUMENT;
    make_late(c->calls, c->calls->slots[slot]);
    return 0;
}
