/* conn_calls.c - the table of calls in flight. See conn.h.
 *
 * Each call has an entry in a pool. A hash table finds it by its serial, a heap
 * the one whose time is up first. Calls that have ended without their answer
 * stay in the hash table, so that the answer can be dropped when it comes. */

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
    uint32_t heap_at; /* place in the heap, or NONE */
    uint32_t next;    /* in the list of free entries */
} call;

struct dw_calls {
    uint32_t size; /* of the pool and the heap; the hash table has twice as many slots */
    uint32_t n, late, n_heap;
    uint32_t free; /* the first free entry */
    call *pool;
    uint32_t *heap;
    uint32_t *slots; /* serial modulo its size, and the next free one from there */
};

/* -- The hash table --------------------------------------------------------------- */

static uint32_t slot_mask(const dw_calls *t)
{
    return 2 * t->size - 1;
}

/* The slot that a serial is in, or the free one where it would be. */
static uint32_t find_slot(const dw_calls *t, uint32_t serial)
{
    uint32_t slot = serial & slot_mask(t);
    while (t->slots[slot] != NONE && t->pool[t->slots[slot]].serial != serial)
        slot = (slot + 1) & slot_mask(t);
    return slot;
}

/* Frees a slot, and moves those up that are further on only because of it. */
static void free_slot(dw_calls *t, uint32_t slot)
{
    uint32_t mask = slot_mask(t), hole = slot;
    for (uint32_t at = (slot + 1) & mask; t->slots[at] != NONE; at = (at + 1) & mask) {
        uint32_t home = t->pool[t->slots[at]].serial & mask;
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
    *t = (dw_calls){.size = size, .pool = (call *)(t + 1)};
    t->heap = (uint32_t *)(t->pool + size);
    t->slots = t->heap + size;
    memset(t->slots, 0xff, 2 * size * sizeof *t->slots);
    for (uint32_t i = 0; i < size; i++)
        t->pool[i].next = i + 1;
    return t;
}

static void add(dw_calls *t, const call *new)
{
    uint32_t entry = t->free;
    t->free = t->pool[entry].next;
    t->pool[entry] = *new;
    t->pool[entry].heap_at = NONE;
    t->slots[find_slot(t, new->serial)] = entry;
    t->n++;
    if (new->done == NULL)
        t->late++;
    else if (new->deadline != INT64_MAX)
        sift_up(t, t->n_heap++, entry);
}

static void drop(dw_calls *t, uint32_t slot)
{
    uint32_t entry = t->slots[slot];
    leave_heap(t, entry);
    free_slot(t, slot);
    t->late -= t->pool[entry].done == NULL;
    t->pool[entry].next = t->free;
    t->free = entry;
    t->n--;
}

static void free_table(const dw_conn *c, dw_calls *t)
{
    if (t != NULL)
        c->allocator->resize(c->allocator->context, t, block_size(t->size), 0);
}

void dw_calls_free(dw_conn *c)
{
    free_table(c, c->calls);
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
    for (uint32_t i = 0; old != NULL && i < old->size; i++)
        add(t, &old->pool[i]);
    free_table(c, old);
    c->calls = t;
    return true;
}

/* -- Calls ------------------------------------------------------------------------------ */

static uint32_t oldest_late(const dw_calls *t, uint32_t now)
{
    uint32_t oldest = NONE, age = 0;
    for (uint32_t slot = 0; slot <= slot_mask(t); slot++) {
        if (t->slots[slot] == NONE)
            continue;
        const call *e = &t->pool[t->slots[slot]];
        if (e->done == NULL && now - e->serial >= age) {
            age = now - e->serial;
            oldest = slot;
        }
    }
    return oldest;
}

/* Makes an entry one that only drops the answer. */
static void make_late(dw_conn *c, uint32_t slot)
{
    dw_calls *t = c->calls;
    call *e = &t->pool[t->slots[slot]];
    leave_heap(t, t->slots[slot]);
    e->done = NULL;
    if (++t->late > MAX_LATE)
        drop(t, oldest_late(t, c->serial));
}

void dw_calls_add(dw_conn *c, uint32_t serial, int64_t deadline, dw_reply_fn *done, void *context)
{
    call new = {.done = done, .context = context, .deadline = deadline, .serial = serial};
    add(c->calls, &new);
    if (done == NULL && c->calls->late > MAX_LATE)
        drop(c->calls, oldest_late(c->calls, c->serial));
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
        make_late(c, find_slot(c->calls, e.serial));
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
    make_late(c, slot);
    return 0;
}
