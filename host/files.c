/* SPDX-License-Identifier: Apache-2.0 */
/* Files by HTTP. Downloads: the init opens the file and hands over the descriptor, the kernel sends
 * the bytes. Uploads: bytes are spooled to an unnamed file first and handed to the init whole, so
 * a broken upload never touches the sandbox and the init, not the host, decides where a path leads.
 */
#include "files.h"

#include "auth.h"
#include "byte_range.h"
#include "lifecycle.h"
#include "routes.h"
#include "slu/base/memory.h"
#include "unary.h"
#include "uri.h"

#include <sodium.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PARTS_MAX = 256,
    POST_BUFFER = 64 * 1024,
    UNKNOWN_SIZE_MAX = 4 * 1024 * 1024, /* Of files like those in /proc, whose size reads 0. */
};

struct part {
    char path[SLU_HOST_PATH_MAX];
    int fd;
};

struct upload {
    struct slu_host_request *request;
    struct MHD_PostProcessor *multipart; /* NULL: the body is the file. */
    char *path;                          /* From the query; wins over a part's name. */
    struct part *parts;
    size_t part_count;
    size_t bytes; /* Of the last part, so far. */
    size_t sent;  /* Parts that the init has taken. */
    json_t *written;
};

static unsigned
status_of(const char *code)
{
    static const struct {
        const char *code;
        unsigned status;
    } statuses[] = {
        {"not_found", 404},          {"invalid_argument", 400}, {"permission_denied", 403},
        {"resource_exhausted", 507}, {"already_exists", 409},
    };

    for (size_t i = 0; i < SLU_COUNT(statuses); i++) {
        if (strcmp(statuses[i].code, code) == 0)
            return statuses[i].status;
    }
    return 500;
}

static void
failed(struct slu_host_unary *unary, const char *code, const char *message)
{
    if (strcmp(code, "unavailable") == 0)
        slu_host_respond_gone(unary->request, unary->request->sandbox_id);
    else
        slu_host_respond_error(unary->request, status_of(code), NULL, "%s", message);
}

static void
use(struct slu_host_request *request,
    void (*run)(struct slu_host_request *request, struct slu_host_sandbox *sandbox))
{
    struct slu_host_sandbox *sandbox =
        slu_host_sandboxes_find(&request->host->sandboxes, request->sandbox_id);
    if (sandbox)
        slu_host_use(request, sandbox, run);
    else
        slu_host_respond_gone(request, request->sandbox_id);
}

/* ---- Download ---- */

static void
answer_buffered(struct slu_host_request *request, int fd)
{
    char *bytes = slu_alloc(UNKNOWN_SIZE_MAX);
    size_t size = 0;
    ssize_t got;
    while (size < UNKNOWN_SIZE_MAX && (got = read(fd, bytes + size, UNKNOWN_SIZE_MAX - size)) > 0)
        size += (size_t) got;
    slu_host_respond_text(request, 200, "application/octet-stream", bytes, size);
    slu_free_ptr(&bytes);
}

static void
answer_range(struct slu_host_request *request, int fd, int64_t size, struct slu_byte_range range)
{
    char text[96];
    struct MHD_Response *response =
        MHD_create_response_from_fd_at_offset64((uint64_t) range.size, fd, (uint64_t) range.start);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/octet-stream");
    MHD_add_response_header(response, MHD_HTTP_HEADER_ACCEPT_RANGES, "bytes");
    if (range.size == size) {
        slu_host_respond(request, 200, response);
        return;
    }
    snprintf(text, sizeof(text), "bytes %lld-%lld/%lld", (long long) range.start,
             (long long) (range.start + range.size - 1), (long long) size);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_RANGE, text);
    slu_host_respond(request, 206, response);
}

static void
answer_file(struct slu_host_unary *unary)
{
    struct stat info;
    struct slu_host_request *request = unary->request;
    if (unary->descriptor < 0 || fstat(unary->descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
        slu_host_respond_error(request, 500, NULL, "the sandbox gave no file");
        return;
    }
    if (info.st_size == 0) {
        answer_buffered(request, unary->descriptor);
        return;
    }

    struct slu_byte_range range;
    const char *text = slu_host_request_header(request, MHD_HTTP_HEADER_RANGE);
    if (!slu_byte_range_parse(text, info.st_size, &range)) {
        slu_host_respond_error(request, 416, NULL, "range '%.60s' is outside of the %lld bytes",
                               text, (long long) info.st_size);
        return;
    }
    answer_range(request, slu_host_unary_take_descriptor(unary), info.st_size, range);
}

static void
run_get(struct slu_host_request *request, struct slu_host_sandbox *sandbox)
{
    static const struct slu_host_unary_ops ops = {.done = answer_file, .failed = failed};
    SLU_AUTO_BUFFER struct slu_buffer message = {0};
    const size_t at = slu_init_begin(&message, SLU_INIT_OPEN_FILE);
    slu_init_put_text(&message, SLU_INIT_F_PATH, request->context);
    slu_init_end(&message, at);
    slu_host_unary_ask(request, sandbox, &message, -1, &ops, NULL);
}

static void
drop_path(void *context)
{
    slu_free_ptr(&context);
}

void
slu_host_files_get(struct slu_host_request *request)
{
    SLU_AUTO_FREE char *path = slu_host_uri_query(request->query, "path");
    char *resolved = slu_alloc(SLU_HOST_PATH_MAX);
    request->context = resolved;
    request->drop_context = drop_path;
    if (!path || !slu_host_uri_sandbox_path(path, resolved)) {
        slu_host_respond_error(request, 400, NULL, "the query needs a path of at most %d bytes",
                               SLU_HOST_PATH_MAX - 1);
    } else {
        use(request, run_get);
    }
}

/* ---- Upload ---- */

static void
drop_upload(void *context)
{
    struct upload *upload = context;
    if (upload->multipart)
        MHD_destroy_post_processor(upload->multipart);
    for (size_t i = 0; i < upload->part_count; i++)
        close(upload->parts[i].fd);
    slu_free_ptr(&upload->parts);
    slu_free_ptr(&upload->path);
    json_decref(upload->written);
    slu_free_ptr(&upload);
}

/* An unnamed file where the sandboxes are; where the file system has none, in memory. */
static int
open_spool(const struct slu_host *host)
{
    int fd = open(host->sandboxes.folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
        fd = memfd_create("upload", MFD_CLOEXEC);
    return fd;
}

/* The library may begin a part with no bytes at all and then begin it once more. */
static bool
begins_again(const struct upload *upload, const char *path)
{
    char resolved[SLU_HOST_PATH_MAX];
    return upload->part_count > 0 && upload->bytes == 0 && path &&
           slu_host_uri_sandbox_path(path, resolved) &&
           strcmp(upload->parts[upload->part_count - 1].path, resolved) == 0;
}

static bool
add_part(struct upload *upload, const char *path)
{
    struct part part;
    if (begins_again(upload, path))
        return true;
    if (!path || !slu_host_uri_sandbox_path(path, part.path)) {
        slu_host_respond_error(upload->request, 400, NULL,
                               "an upload needs a path: in the query, or as a part's filename");
        return false;
    }
    for (size_t i = 0; i < upload->part_count; i++) {
        if (strcmp(upload->parts[i].path, part.path) == 0) {
            slu_host_respond_error(upload->request, 400, NULL, "two parts have the path '%.200s'",
                                   part.path);
            return false;
        }
    }
    part.fd = upload->part_count < PARTS_MAX ? open_spool(upload->request->host) : -1;
    if (part.fd < 0) {
        slu_host_respond_error(upload->request, upload->part_count < PARTS_MAX ? 507 : 400, NULL,
                               "no more than %d files at once: %s", PARTS_MAX, strerror(errno));
        return false;
    }
    upload->parts = slu_realloc(upload->parts, (upload->part_count + 1) * sizeof(*upload->parts));
    upload->parts[upload->part_count++] = part;
    upload->bytes = 0;
    return true;
}

static bool
spool(struct upload *upload, const char *bytes, size_t size)
{
    const int fd = upload->parts[upload->part_count - 1].fd;
    size_t written = 0;
    upload->bytes += size;
    while (written < size) {
        const ssize_t got = write(fd, bytes + written, size - written);
        if (got < 0 && errno != EINTR) {
            slu_host_respond_error(upload->request, 507, NULL, "storing the upload: %s",
                                   strerror(errno));
            return false;
        }
        written += got > 0 ? (size_t) got : 0;
    }
    return true;
}

static enum MHD_Result // NOLINTNEXTLINE(readability-function-size): the library's parameters.
take_part(void *cls,
          enum MHD_ValueKind kind,
          const char *key,
          const char *filename,
          const char *content_type,
          const char *transfer_encoding,
          const char *data,
          uint64_t offset,
          size_t size)
{
    (void) kind;
    (void) content_type;
    (void) transfer_encoding;
    struct upload *upload = cls;
    if (strcmp(key, "file") != 0) /* Other fields carry nothing we know. */
        return MHD_YES;
    if (offset == 0 && !add_part(upload, upload->path ? upload->path : filename))
        return MHD_NO;
    return spool(upload, data, size) ? MHD_YES : MHD_NO;
}

static bool
take_bytes(struct slu_host_request *request, const char *bytes, size_t size)
{
    struct upload *upload = request->context;
    if (!upload->multipart)
        return spool(upload, bytes, size);
    if (MHD_post_process(upload->multipart, bytes, size) == MHD_YES)
        return true;
    slu_host_respond_error(request, 400, NULL, "the multipart body is malformed");
    return false;
}

bool
slu_host_files_prepare(struct slu_host_request *request)
{
    const char *type = slu_host_request_header(request, MHD_HTTP_HEADER_CONTENT_TYPE);
    const char *encoding = slu_host_request_header(request, MHD_HTTP_HEADER_CONTENT_ENCODING);
    struct upload *upload = slu_alloc(sizeof(*upload));
    upload->request = request;
    upload->path = slu_host_uri_query(request->query, "path");
    upload->written = json_array();
    request->context = upload;
    request->drop_context = drop_upload;
    request->sink = take_bytes;

    if (encoding && strcasecmp(encoding, "identity") != 0) {
        slu_host_respond_error(request, 415, NULL, "Content-Encoding '%.40s' is not supported",
                               encoding);
    } else if (type && strncasecmp(type, "multipart/form-data", 19) == 0) {
        upload->multipart =
            MHD_create_post_processor(request->connection, POST_BUFFER, take_part, upload);
        if (!upload->multipart)
            slu_host_respond_error(request, 400, NULL, "the multipart body has no boundary");
    } else if (type && strncasecmp(type, "application/octet-stream", 24) == 0) {
        add_part(upload, upload->path);
    } else {
        slu_host_respond_error(request, 400, NULL,
                               "Content-Type must be multipart/form-data or "
                               "application/octet-stream");
    }
    return !request->response;
}

static void run_put(struct slu_host_request *request, struct slu_host_sandbox *sandbox);

static void
part_written(struct slu_host_unary *unary)
{
    struct slu_host_request *request = unary->request;
    struct upload *upload = request->context;
    const char *path = upload->parts[upload->sent].path;
    const char *slash = strrchr(path, '/');
    json_t *text = json_string(path);
    json_t *name = json_string(slash ? slash + 1 : path);
    json_array_append_new(upload->written,
                          json_pack("{s:o, s:o, s:s}", "path", text ? text : json_string("?"),
                                    "name", name ? name : json_string("?"), "type", "file"));
    if (++upload->sent < upload->part_count)
        use(request, run_put);
    else
        slu_host_respond_json(request, 200, json_incref(upload->written));
}

static void
run_put(struct slu_host_request *request, struct slu_host_sandbox *sandbox)
{
    static const struct slu_host_unary_ops ops = {.done = part_written, .failed = failed};
    struct upload *upload = request->context;
    const struct part *part = &upload->parts[upload->sent];
    SLU_AUTO_BUFFER struct slu_buffer message = {0};
    const size_t at = slu_init_begin(&message, SLU_INIT_PUT_FILE);
    slu_init_put_text(&message, SLU_INIT_F_PATH, part->path);
    slu_init_end(&message, at);
    slu_host_unary_ask(request, sandbox, &message, part->fd, &ops, NULL);
}

void
slu_host_files_post(struct slu_host_request *request)
{
    struct upload *upload = request->context;
    if (upload->multipart) { /* Flushes what it holds; the last part may come only now. */
        const enum MHD_Result well = MHD_destroy_post_processor(upload->multipart);
        upload->multipart = NULL;
        if (well != MHD_YES && !request->response)
            slu_host_respond_error(request, 400, NULL, "the multipart body is cut short");
    }
    if (request->response)
        return;
    if (upload->part_count == 0)
        slu_host_respond_error(request, 400, NULL, "the body has no part named 'file'");
    else
        use(request, run_put);
}

/* ---- Signed URLs ---- */

bool
slu_host_files_signature_is_good(const struct slu_host_request *request, const char *token)
{
    SLU_AUTO_FREE char *signature = slu_host_uri_query(request->query, "signature");
    SLU_AUTO_FREE char *expiry = slu_host_uri_query(request->query, "signature_expiration");
    SLU_AUTO_FREE char *path = slu_host_uri_query(request->query, "path");
    SLU_AUTO_FREE char *username = slu_host_uri_query(request->query, "username");
    unsigned char digest[crypto_hash_sha256_BYTES];
    char expected[64] = "v1_";
    if (!signature || strlen(signature) >= sizeof(expected))
        return false;
    if (expiry && strtoll(expiry, NULL, 10) * 1000 < slu_host_now_ms())
        return false;

    SLU_AUTO_BUFFER struct slu_buffer text = {0};
    const bool reads = strcmp(request->route->method, "GET") == 0;
    slu_buffer_printf(&text, "%s:%s:%s:%s", path ? path : "", reads ? "read" : "write",
                      username ? username : "", token);
    if (expiry)
        slu_buffer_printf(&text, ":%s", expiry);
    crypto_hash_sha256(digest, (const unsigned char *) text.data, text.size);
    sodium_bin2base64(expected + 3, sizeof(expected) - 3, digest, sizeof(digest),
                      sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    return slu_host_auth_token(signature, expected);
}
