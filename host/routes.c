/* SPDX-License-Identifier: Apache-2.0 */
/* The table of routes, and the checks that every route shares: who calls, and on what. */
#include "routes.h"

#include "auth.h"
#include "control.h"
#include "files.h"
#include "filesystem_rpc.h"
#include "lifecycle.h"
#include "process_rpc.h"
#include "slu/base/memory.h"
#include "unary.h"
#include "uri.h"

#include <string.h>

enum {
    NO_BODY = 64 * 1024, /* Clients send {} where nothing is asked. */
    SMALL_BODY = 64 * 1024,
    LARGE_BODY = 1024 * 1024,
    FILE_BODY = -1, /* --max-upload-mb */
};

/* clang-format off */
static const struct slu_host_route routes[] = {
    {"GET",    "/health",                                SLU_HOST_OPEN,    NO_BODY,    slu_host_control_health,      NULL},
    {"GET",    "/metrics",                               SLU_HOST_CONTROL, NO_BODY,    slu_host_control_metrics,     NULL},
    {"GET",    "/host/info",                             SLU_HOST_CONTROL, NO_BODY,    slu_host_control_info,        NULL},

    {"POST",   "/v2/sandboxes",                          SLU_HOST_CONTROL, LARGE_BODY, slu_host_control_create_v2,   NULL},
    {"POST",   "/sandboxes",                             SLU_HOST_CONTROL, LARGE_BODY, slu_host_control_create_v1,   NULL},
    {"GET",    "/v2/sandboxes",                          SLU_HOST_CONTROL, NO_BODY,    slu_host_control_list_v2,     NULL},
    {"GET",    "/sandboxes",                             SLU_HOST_CONTROL, NO_BODY,    slu_host_control_list_v1,     NULL},
    {"GET",    "/sandboxes/{id}",                        SLU_HOST_CONTROL, NO_BODY,    slu_host_control_get,         NULL},
    {"DELETE", "/sandboxes/{id}",                        SLU_HOST_CONTROL, NO_BODY,    slu_host_control_delete,      NULL},
    {"POST",   "/sandboxes/{id}/pause",                  SLU_HOST_CONTROL, SMALL_BODY, slu_host_control_pause,       NULL},
    {"POST",   "/v2/sandboxes/{id}/connect",             SLU_HOST_CONTROL, SMALL_BODY, slu_host_control_connect_v2,  NULL},
    {"POST",   "/sandboxes/{id}/connect",                SLU_HOST_CONTROL, SMALL_BODY, slu_host_control_connect_v1,  NULL},
    {"POST",   "/sandboxes/{id}/resume",                 SLU_HOST_CONTROL, SMALL_BODY, slu_host_control_resume,      NULL},
    {"POST",   "/sandboxes/{id}/timeout",                SLU_HOST_CONTROL, SMALL_BODY, slu_host_control_timeout,     NULL},
    {"POST",   "/sandboxes/{id}/refreshes",              SLU_HOST_CONTROL, SMALL_BODY, slu_host_control_refresh,     NULL},

    {"GET",    "/files",                                 SLU_HOST_FILES,   NO_BODY,    slu_host_files_get,           NULL},
    {"POST",   "/files",                                 SLU_HOST_FILES,   FILE_BODY,  slu_host_files_post,          slu_host_files_prepare},

    {"POST",   "/process.Process/Start",                 SLU_HOST_RPC,     LARGE_BODY, slu_host_process_start,       NULL},
    {"POST",   "/process.Process/Connect",               SLU_HOST_RPC,     SMALL_BODY, slu_host_process_connect,     NULL},
    {"POST",   "/process.Process/List",                  SLU_HOST_RPC,     SMALL_BODY, slu_host_process_list,        NULL},
    {"POST",   "/process.Process/SendSignal",            SLU_HOST_RPC,     SMALL_BODY, slu_host_process_send_signal, NULL},
    {"POST",   "/process.Process/SendInput",             SLU_HOST_RPC,     LARGE_BODY, slu_host_process_send_input,  NULL},
    {"POST",   "/process.Process/CloseStdin",            SLU_HOST_RPC,     SMALL_BODY, slu_host_process_close_stdin, NULL},
    {"POST",   "/process.Process/Update",                SLU_HOST_RPC,     SMALL_BODY, slu_host_process_update,      NULL},

    {"POST",   "/filesystem.Filesystem/Stat",            SLU_HOST_RPC,     SMALL_BODY, slu_host_filesystem_stat,     NULL},
    {"POST",   "/filesystem.Filesystem/ListDir",         SLU_HOST_RPC,     SMALL_BODY, slu_host_filesystem_list,     NULL},
    {"POST",   "/filesystem.Filesystem/MakeDir",         SLU_HOST_RPC,     SMALL_BODY, slu_host_filesystem_make,     NULL},
    {"POST",   "/filesystem.Filesystem/Move",            SLU_HOST_RPC,     SMALL_BODY, slu_host_filesystem_move,     NULL},
    {"POST",   "/filesystem.Filesystem/Remove",          SLU_HOST_RPC,     SMALL_BODY, slu_host_filesystem_remove,   NULL},
};

/* clang-format on */

static void
refuse_data(struct slu_host_request *request, const char *message)
{
    if (request->route->plane == SLU_HOST_RPC)
        slu_host_respond_connect_error(request, "unauthenticated", message);
    else
        slu_host_respond_error(request, 401, NULL, "%s", message);
}

/* The sandbox must be there before its token can be compared. */
static bool
check_data_plane(struct slu_host_request *request)
{
    if (!request->sandbox_id) {
        slu_host_respond_error(request, 400, NULL, "the header E2b-Sandbox-Id is missing");
        return false;
    }
    const struct slu_host_sandbox *sandbox =
        slu_host_sandboxes_find(&request->host->sandboxes, request->sandbox_id);
    if (!sandbox) {
        slu_host_respond_gone(request, request->sandbox_id);
        return false;
    }
    const char *token = slu_host_request_header(request, "X-Access-Token");
    const bool may = slu_host_auth_token(token, sandbox->token) ||
                     (request->route->plane == SLU_HOST_FILES && !token &&
                      slu_host_files_signature_is_good(request, sandbox->token));
    if (!may)
        refuse_data(request, "the access token is missing or wrong");
    else if (!slu_host_auth_user(request))
        refuse_data(request, "unknown user; commands and files of this host belong to 'user'");
    return !request->response;
}

static bool
check_caller(struct slu_host_request *request)
{
    if (request->route->plane == SLU_HOST_OPEN)
        return true;
    if (request->route->plane != SLU_HOST_CONTROL)
        return check_data_plane(request);
    if (slu_host_auth_key(request))
        return true;
    slu_host_respond_error(request, 401, NULL, "the API key is missing or wrong: send X-API-Key");
    return false;
}

bool
slu_host_routes_find(struct slu_host_request *request, const char *method)
{
    bool path_known = false;
    for (size_t i = 0; i < SLU_COUNT(routes); i++) {
        char *segment = NULL;
        if (!slu_host_uri_match(routes[i].pattern, request->target, request->path_size, &segment))
            continue;
        path_known = true;
        if (strcmp(routes[i].method, method) != 0) {
            slu_free_ptr(&segment);
            continue;
        }
        request->route = &routes[i];
        request->id = segment;
        request->body_max = routes[i].body_max == FILE_BODY
                                ? request->host->config.upload_max_mb << 20
                                : routes[i].body_max;
        return check_caller(request);
    }
    if (path_known)
        slu_host_respond_error(request, 405, NULL, "%s is not allowed on this path", method);
    else
        slu_host_respond_error(request, 404, NULL, "no such path");
    return false;
}
