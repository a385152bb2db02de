/* SPDX-License-Identifier: Apache-2.0 */
/* The API as a table: one row per method and path. */
#ifndef SLU_HOST_ROUTES_H
#define SLU_HOST_ROUTES_H

#include "server.h"

enum slu_host_plane {
    SLU_HOST_OPEN,    /* No key. */
    SLU_HOST_CONTROL, /* X-API-Key. */
    SLU_HOST_DATA,    /* E2b-Sandbox-Id and X-Access-Token; REST error bodies. */
    SLU_HOST_RPC,     /* The same with Connect's error bodies. */
    SLU_HOST_FILES,   /* Like DATA, or a signature in the query. */
};

struct slu_host_route {
    const char *method;
    const char *pattern;
    enum slu_host_plane plane;
    int64_t body_max;
    void (*handle)(struct slu_host_request *request);
    /* Before the body: may set a sink. False: it has answered. */
    bool (*prepare)(struct slu_host_request *request);
};

/* Finds the route and checks path, key and size; false when it has answered with an error. */
bool slu_host_routes_find(struct slu_host_request *request, const char *method);

#endif
