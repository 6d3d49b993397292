// The description of the interface is the file itself; that of what every object has is added.
// SPDX-License-Identifier: MIT
#include "bus_introspect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "discovery_names.h"
#include "interface_text.h"

static const char end[] = "</node>\n";

static const char standard[] = //
    "  <interface name=\"org.freedesktop.DBus.Peer\">\n"
    "    <method name=\"Ping\"/>\n"
    "    <method name=\"GetMachineId\">\n"
    "      <arg type=\"s\" name=\"machine_uuid\" direction=\"out\"/>\n"
    "    </method>\n"
    "  </interface>\n"
    "  <interface name=\"org.freedesktop.DBus.Introspectable\">\n"
    "    <method name=\"Introspect\">\n"
    "      <arg type=\"s\" name=\"data\" direction=\"out\"/>\n"
    "    </method>\n"
    "  </interface>\n"
    "  <interface name=\"org.freedesktop.DBus.Properties\">\n"
    "    <method name=\"Get\">\n"
    "      <arg type=\"s\" name=\"interface\" direction=\"in\"/>\n"
    "      <arg type=\"s\" name=\"property\" direction=\"in\"/>\n"
    "      <arg type=\"v\" name=\"value\" direction=\"out\"/>\n"
    "    </method>\n"
    "    <method name=\"GetAll\">\n"
    "      <arg type=\"s\" name=\"interface\" direction=\"in\"/>\n"
    "      <arg type=\"a{sv}\" name=\"properties\" direction=\"out\"/>\n"
    "    </method>\n"
    "    <method name=\"Set\">\n"
    "      <arg type=\"s\" name=\"interface\" direction=\"in\"/>\n"
    "      <arg type=\"s\" name=\"property\" direction=\"in\"/>\n"
    "      <arg type=\"v\" name=\"value\" direction=\"in\"/>\n"
    "    </method>\n"
    "    <signal name=\"PropertiesChanged\">\n"
    "      <arg type=\"s\" name=\"interface\"/>\n"
    "      <arg type=\"a{sv}\" name=\"changed_properties\"/>\n"
    "      <arg type=\"as\" name=\"invalidated_properties\"/>\n"
    "    </signal>\n"
    "  </interface>\n";

int bus_introspect(const char *path, char **ret) {
    const char *child = NULL;
    if (strcmp(path, "/") == 0)
        child = "org";
    else if (strcmp(path, "/org") == 0)
        child = "dotnetdiscovery1";
    else if (strcmp(path, DISCOVERY_BUS_PATH) != 0)
        return -ENOENT;
    int r;
    if (child)
        r = asprintf(ret, "<node>\n  <node name=\"%s\"/>\n%s", child, end);
    else
        r = asprintf(ret, "%.*s%s%s", (int)(strlen(interface_text_bus) - strlen(end)),
                     interface_text_bus, standard, end);
    return r < 0 ? -ENOMEM : 0;
}
