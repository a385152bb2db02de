/* SPDX-License-Identifier: Apache-2.0 */
/* Lua as text. Each script is the common part and its own end. Nothing here trusts what is stored:
 * anything that is not exactly as expected is a gap, which the leader heals by writing all anew. */
#include "store_redis_lua.h"

/* clang-format off */
#define COMMON \
    "local owner_key, views_key, base, cluster = KEYS[1], KEYS[2], ARGV[1], ARGV[2]\n" \
    "local epoch = tonumber(ARGV[3])\n" \
    "local call = redis.call\n" \
    "local function read_owner()\n" \
    "  local f = call('HMGET', owner_key, 'cluster', 'epoch', 'seq', 'part', 'view')\n" \
    "  return {cluster = f[1], epoch = tonumber(f[2]), seq = tonumber(f[3]),\n" \
    "          part = tonumber(f[4] or 0), view = f[5]}\n" \
    "end\n" \
    "local owner = read_owner()\n" \
    "if owner.cluster and owner.cluster ~= cluster then return 'other' end\n" \
    "if owner.epoch and owner.epoch > epoch then return 'stale' end\n" \
    /* A view is whole when it is listed and holds as many statuses as were counted. */ \
    "local function whole(view)\n" \
    "  if not view then return false end\n" \
    "  local count = tonumber(call('HGET', views_key, view))\n" \
    "  return count ~= nil and count == call('HLEN', base .. view .. ':status')\n" \
    "     and count == call('HLEN', base .. view .. ':at')\n" \
    "end\n" \
    "local function count(view)\n" \
    "  call('HSET', views_key, view, call('HLEN', base .. view .. ':status'))\n" \
    "end\n" \
    "local function remove_view(view)\n" \
    "  local name = base .. view\n" \
    "  for _, at in ipairs(call('SMEMBERS', name .. ':kinds')) do\n" \
    "    call('UNLINK', name .. ':idx:' .. at)\n" \
    "  end\n" \
    "  call('UNLINK', name .. ':status', name .. ':ids', name .. ':kinds', name .. ':at')\n" \
    "  call('HDEL', views_key, view)\n" \
    "end\n" \
    "local function done()\n" \
    "  if call('HLEN', views_key) > 1 then return 'applied-sweep' end\n" \
    "  return 'applied'\n" \
    "end\n"

#define RECORDS \
    "local function unindex(name, key, at)\n" \
    "  local index = name .. ':idx:' .. at\n" \
    "  call('SREM', index, key)\n" \
    "  if call('EXISTS', index) == 0 then call('SREM', name .. ':kinds', at) end\n" \
    "end\n" \
    "local function add_id(name, id, key)\n" \
    "  local listed, keys = call('HGET', name .. ':ids', id), 0\n" \
    "  for one in string.gmatch(listed or '', '%S+') do\n" \
    "    if one == key or one == '*' then return end\n" \
    "    keys = keys + 1\n" \
    "  end\n" \
    "  if keys >= 4 then key = '*' end\n" \
    "  call('HSET', name .. ':ids', id, listed and listed .. ' ' .. key or key)\n" \
    "end\n" \
    "local function remove_id(name, id, key)\n" \
    "  local left = {}\n" \
    "  for one in string.gmatch(call('HGET', name .. ':ids', id) or '', '%S+') do\n" \
    "    if one ~= key then left[#left + 1] = one end\n" \
    "  end\n" \
    "  if #left == 0 then call('HDEL', name .. ':ids', id)\n" \
    "  else call('HSET', name .. ':ids', id, table.concat(left, ' ')) end\n" \
    "end\n" \
    "local function put(name, key, id, at, status)\n" \
    "  local before = call('HGET', name .. ':at', key)\n" \
    "  call('HSET', name .. ':status', key, status)\n" \
    "  if before == at then return end\n" \
    "  if before then unindex(name, key, before) else add_id(name, id, key) end\n" \
    "  call('HSET', name .. ':at', key, at)\n" \
    "  call('SADD', name .. ':kinds', at)\n" \
    "  call('SADD', name .. ':idx:' .. at, key)\n" \
    "end\n" \
    "local function remove(name, key, id)\n" \
    "  local before = call('HGET', name .. ':at', key)\n" \
    "  if not before then return end\n" \
    "  call('HDEL', name .. ':status', key)\n" \
    "  call('HDEL', name .. ':at', key)\n" \
    "  unindex(name, key, before)\n" \
    "  remove_id(name, id, key)\n" \
    "end\n" \
    "local function write(view, first)\n" \
    "  local name = base .. view\n" \
    "  for i = first, #ARGV, 4 do\n" \
    "    if ARGV[i + 3] == '' then remove(name, ARGV[i], ARGV[i + 1])\n" \
    "    else put(name, ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) end\n" \
    "  end\n" \
    "  count(view)\n" \
    "end\n"

const char *const slu_redis_scripts[SLU_REDIS_SCRIPT_COUNT] = {
    /* Exactly the one before: the same epoch, or a lower one under a claim's first transaction; the
     * sequence runs on over claims, so that a lower epoch with any other number is a roll-back. */
    [SLU_REDIS_APPLY] = COMMON RECORDS
        "local seq, url, claim = tonumber(ARGV[4]), ARGV[5], ARGV[6] == '1'\n"
        "local part, parts = tonumber(ARGV[7]), tonumber(ARGV[8])\n"
        "if not owner.epoch or owner.seq ~= seq - 1 or owner.part ~= part - 1 then return 'gap' end\n"
        "if owner.epoch ~= epoch and not (claim and part == 1) then return 'gap' end\n"
        "if not whole(owner.view) then return 'gap' end\n"
        "write(owner.view, 9)\n"
        "if part == parts then seq, part = seq, 0 else seq = seq - 1 end\n"
        "call('HSET', owner_key, 'epoch', epoch, 'seq', seq, 'part', part, 'url', url)\n"
        "return done()\n",

    /* The name may be left over in a Redis that was rolled back. */
    [SLU_REDIS_BEGIN] = COMMON
        "local view = ARGV[4]\n"
        "if owner.view == view then return 'gap' end\n"
        "remove_view(view)\n"
        "call('HSET', views_key, view, 0)\n"
        "return 'applied'\n",

    [SLU_REDIS_PUT] = COMMON RECORDS
        "local view = ARGV[4]\n"
        "if not whole(view) then return 'gap' end\n"
        "write(view, 5)\n"
        "return 'applied'\n",

    [SLU_REDIS_FINISH] = COMMON
        "local seq, url, view = tonumber(ARGV[4]), ARGV[5], ARGV[6]\n"
        "if owner.epoch == epoch and owner.seq > seq then return 'gap' end\n"
        "if not whole(view) then return 'gap' end\n"
        "call('HSET', owner_key, 'cluster', cluster, 'epoch', epoch, 'seq', seq, 'part', 0,\n"
        "     'view', view, 'url', url)\n"
        "return done()\n",

    /* A view of a higher epoch is being written by the next leader right now. */
    [SLU_REDIS_SWEEP] = COMMON
        "if not owner.view then return 'gap' end\n"
        "for _, view in ipairs(call('HKEYS', views_key)) do\n"
        "  local of = tonumber(string.match(view, '^g(%d+)%.'))\n"
        "  if view ~= owner.view and (not of or of <= epoch) then remove_view(view) end\n"
        "end\n"
        "return 'applied'\n",
};
/* clang-format on */
