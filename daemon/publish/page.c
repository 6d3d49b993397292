// Collecting processes in the order their lives began.
// SPDX-License-Identifier: MIT
#include "page.h"

#include <errno.h>

#include "bounds.h"
#include "varlink.h"
#include "view.h"

static bool is_wanted(const Page *page, const Traits *traits) {
    return viewer_sees(page->viewer, traits) && filter_match(page->filter, traits);
}

int page_collect(Page *page, json_t *array) {
    size_t used = 0;
    size_t weight = filter_has_globs(page->filter) ? BOUND_GLOB_LIVES : 1;
    for (size_t looked_at = 0;; looked_at += weight) {
        const Process *process = registry_next(page->context->registry, page->cursor);
        if (!process || process->serial > page->end)
            return PAGE_END;
        if (looked_at >= page->lives)
            return PAGE_FULL;
        if (is_wanted(page, &process->traits)) {
            _cleanup_json_ json_t *object = NULL;
            int r = view_process_json(process, page->context->boot_id, &object);
            if (r < 0)
                return r;
            size_t size = json_dumpb(object, NULL, 0, JSON_COMPACT) + 1; // and a comma
            if (used > 0 && used + size > page->bytes)
                return PAGE_FULL;
            used += size;
            if (json_array_append_new(array, TAKE_PTR(object)) < 0)
                return -ENOMEM;
        }
        page->cursor = process->serial;
    }
}
