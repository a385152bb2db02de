// SPDX-License-Identifier: Apache-2.0
// The unmodified e2b SDK from npm against a sluice-host; test_sdk.py installs it and runs this.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import test from 'node:test'

const require = createRequire(process.env.SLUICE_SDK_DIR + '/')
const { CommandExitError, NotFoundError, Sandbox, TimeoutError } = require('e2b')

async function within(options, body) {
  const sandbox = await Sandbox.create('base', { timeoutMs: 120_000, ...options })
  try {
    await body(sandbox)
  } finally {
    await sandbox.kill()
  }
}

test('create, info, kill twice', () => within({ metadata: { a: 'b c', k: 'x&y=z' } }, async (sandbox) => {
  const info = await sandbox.getInfo()
  assert.equal(info.sandboxId, sandbox.sandboxId)
  assert.deepEqual(info.metadata, { a: 'b c', k: 'x&y=z' })
  assert.equal(info.state, 'running')
  assert.equal(await sandbox.isRunning(), true)
  assert.equal(await sandbox.kill(), true)
  assert.equal(await sandbox.kill(), false)
  assert.equal(await sandbox.isRunning(), false)
  await assert.rejects(Sandbox.connect(sandbox.sandboxId))
}))

test('list with filter, state and pages', () => within({ metadata: { page: 'js & co' } }, async (one) => {
  await within({ metadata: { page: 'js & co' } }, async (two) => {
    await two.pause()
    const ids = async (query, limit) => {
      const found = []
      const pages = Sandbox.list({ query, limit })
      while (pages.hasNext) found.push(...(await pages.nextItems()).map((item) => item.sandboxId))
      return found.sort()
    }
    const metadata = { page: 'js & co' }
    assert.deepEqual(await ids({ metadata }, 1), [one.sandboxId, two.sandboxId].sort())
    assert.deepEqual(await ids({ metadata, state: ['paused'] }), [two.sandboxId])
    assert.deepEqual(await ids({ metadata: { page: 'none' } }), [])
  })
}))

test('pause twice, connect', () => within({}, async (sandbox) => {
  await sandbox.files.write('kept.txt', 'kept')
  assert.equal(await sandbox.pause(), true)
  assert.equal(await sandbox.pause(), false)
  assert.equal((await sandbox.getInfo()).state, 'paused')
  const again = await Sandbox.connect(sandbox.sandboxId)
  assert.equal(await again.files.read('kept.txt'), 'kept')
}))

test('commands', () => within({ envs: { FROM_CREATE: '1' } }, async (sandbox) => {
  const result = await sandbox.commands.run('echo out; echo err >&2; echo $FROM_CREATE $A; pwd',
    { envs: { A: '2' }, cwd: '/tmp' })
  assert.deepEqual([result.stdout, result.stderr, result.exitCode], ['out\n1 2\n/tmp\n', 'err\n', 0])
  await assert.rejects(sandbox.commands.run('exit 3'),
    (error) => error instanceof CommandExitError && error.exitCode === 3)
  await assert.rejects(sandbox.commands.run('sleep 1000', { timeoutMs: 1000 }), TimeoutError)
  const command = await sandbox.commands.run('cat', { background: true, stdin: true, timeoutMs: 0 })
  await sandbox.commands.sendStdin(command.pid, 'hello\n')
  assert.deepEqual((await sandbox.commands.list()).map((one) => one.pid), [command.pid])
  assert.equal(await sandbox.commands.kill(command.pid), true)
  assert.equal(await sandbox.commands.kill(99999), false)
  await assert.rejects(command.wait(), CommandExitError)
}))

test('files', () => within({}, async (sandbox) => {
  const { files } = sandbox
  await files.write('/home/user/a b/ü.txt', 'text')
  assert.equal(await files.read('/home/user/a b/ü.txt'), 'text')
  const content = new Uint8Array(8 << 20).map((_, at) => at * 31)
  await files.write('large', content.buffer)
  assert.deepEqual(Buffer.from(await files.read('large', { format: 'bytes' })), Buffer.from(content))
  await files.write('empty', '')
  assert.equal(await files.read('empty'), '')
  await files.write([...Array(20).keys()].map((n) => ({ path: `m/${n}`, data: `${n}` })))
  assert.equal((await files.list('m')).length, 20)
  assert.equal(await files.exists('m/7'), true)
  assert.equal(await files.exists('m/77'), false)
  assert.equal((await files.rename('m/7', 'm/renamed')).path, '/home/user/m/renamed')
  assert.equal(await files.makeDir('folder/in'), true)
  assert.equal(await files.makeDir('folder/in'), false)
  await files.remove('m')
  assert.equal(await files.exists('m'), false)
  await assert.rejects(files.read('gone'), NotFoundError)
}))

test('terminal', () => within({}, async (sandbox) => {
  const output = []
  const terminal = await sandbox.pty.create({
    cols: 80, rows: 24, timeoutMs: 0, onData: (data) => output.push(Buffer.from(data)),
  })
  await sandbox.pty.resize(terminal.pid, { cols: 100, rows: 30 })
  await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('stty size; exit\n'))
  await terminal.wait().catch(() => {})
  assert.match(Buffer.concat(output).toString(), /30 100/)
}))
