// A line, as unix_seq_show() in the kernel's net/unix/af_unix.c writes it:
//
//   Num               RefCount Protocol Flags    Type St Inode Path
//   00000000b3f98d3e: 00000002 00000000 00010000 0001 01 62344 /tmp/dotnet-diagnostic-1-42-socket
//
// The path is the rest of the line behind one blank, may hold blanks itself, and is not escaped: a
// path with a newline in it makes lines of its own, of any content. So a line is a hint, no more:
// the inode must be one of the process's own, and whoever connects must ask who listens.
// SPDX-License-Identifier: MIT
#include "unix_table.h"

#include <string.h>

#include "discovery_names.h"
#include "scan.h"

enum {
    FLAG_ACCEPTS = 0x00010000, // __SO_ACCEPTCON: listen() was called
    TYPE_STREAM = 0x0001,
    STATE_UNCONNECTED = 0x01, // SS_UNCONNECTED, also that of a listener
};

static bool hex_column(const char **text, uint64_t *ret) {
    const char *p = *text;
    uint64_t value;
    if (!scan_hex(&p, &value) || !scan_literal(&p, " "))
        return false;
    *text = p;
    *ret = value;
    return true;
}

bool unix_table_listener(const char *line, UnixListener *ret) {
    // The first column is a hashed address, or a word where the kernel hides even that.
    const char *p = strstr(line, ": ");
    if (!p)
        return false;
    p += 2;

    uint64_t references, protocol, flags, type, state, inode;
    if (!hex_column(&p, &references) || !hex_column(&p, &protocol) || !hex_column(&p, &flags) ||
        !hex_column(&p, &type) || !hex_column(&p, &state))
        return false;
    if (!(flags & FLAG_ACCEPTS) || type != TYPE_STREAM || state != STATE_UNCONNECTED)
        return false;

    scan_blanks(&p);
    if (!scan_decimal(&p, &inode) || inode == 0 || !scan_literal(&p, " "))
        return false;
    // '@' stands for the NUL that begins an abstract name. A path bound as "@x", relative, reads
    // the same and is lost here; the runtime never binds one.
    if (*p == '\0' || *p == '@')
        return false;

    *ret = (UnixListener){.inode = inode, .path = p};
    return true;
}

// Takes `literal` from the front, or as much of it as there is where the text ends within it.
static bool cut_literal(const char **text, const char *literal) {
    while (*literal != '\0' && **text == *literal) {
        (*text)++;
        literal++;
    }
    return *literal == '\0' || **text == '\0';
}

static bool cut_number(const char **text) {
    size_t digits = strspn(*text, "0123456789");
    *text += digits;
    return digits > 0 || **text == '\0';
}

// dotnet-diagnostic-{pid}-{key}-socket, where the end of the path may have cut any of it off. The
// same pattern that Microsoft's own tools accept, which leaves out dsrouter's.
bool unix_table_is_diagnostic(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *p = slash ? slash + 1 : path;

    if (strncmp(p, DISCOVERY_SOCKET_PREFIX_CUT, strlen(DISCOVERY_SOCKET_PREFIX_CUT)) != 0)
        return false;
    return cut_literal(&p, DISCOVERY_SOCKET_PREFIX) && cut_number(&p) && cut_literal(&p, "-") &&
           cut_number(&p) && cut_literal(&p, "-socket") && *p == '\0';
}
