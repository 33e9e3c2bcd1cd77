// What the page is told of its connection, and how a silent one is noticed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browser, client, clock } from './support/client.mjs'
import { block, serve } from './support/server.mjs'

test('the page sees each state', async t => {
  const server = await serve(t)
  const { stream, state } = client(t, server.url)
  const next = async () => (await state()).state
  assert.equal(await next(), 'connecting')
  const first = await server.next()
  first.ready('r')
  assert.equal(await next(), 'live')
  first.event('status', { state: 'degraded', since: '2024-01-01T00:00:00Z' })
  assert.equal(await next(), 'degraded')
  first.event('status', { state: 'recovered', since: '2024-01-01T00:00:01Z' })
  assert.equal(await next(), 'live')
  first.cut()
  const lost = await state()
  assert.equal(lost.state, 'connecting')
  assert.ok(lost.retryIn > 0 && lost.message, 'why, and for how long')
  assert.equal(await next(), 'connecting')
  const second = await server.next()
  second.ready('r')
  assert.equal(await next(), 'resumed')
  second.event('reset', { reason: 'history_lost', message: 'too old' }, 's')
  const reset = await state()
  assert.deepEqual([reset.state, reset.message], ['reset', 'too old'])
  stream.close()
  assert.equal(await next(), 'closed')
})

test('several streams on one connection are one state, and end one by one', async t => {
  const server = await serve(t)
  const url = `${server.origin}/_/sse?stream=%2Fa&stream=%2Fb`
  const { event, state, lost, stream } = client(t, url, { events: ['close', 'change'], lastEventId: 'a.b' })
  const of = (stream, data) => ({ stream, id: null, data })
  const first = await server.next()
  first.stream().event('ready', of('/a', { id: 'a', heartbeat: 60 }), 'a.b')
  assert.equal((await state()).state, 'connecting')
  assert.equal((await state()).state, 'resumed')
  first.event('status', of('/a', { state: 'degraded' }))
  assert.equal((await state()).state, 'degraded')
  first.event('close', of('/a', { code: 4404, reason: 'stream gone', reconnect: false }))
  assert.equal((await event()).data.stream, '/a')
  first.event('change', of('/b', { operationType: 'insert' }), 'a.c')
  assert.equal((await event()).data.stream, '/b')
  assert.equal(stream.lastEventId, 'a.c')
  // Its heartbeat is that of the connection.
  assert.equal((await lost()).code, 408)
  assert.equal((await server.next()).request.headers['last-event-id'], 'a.c')
})

test('a client that is not where it was is live, not resumed', async t => {
  const server = await serve(t)
  const { event, state } = client(t, server.url, { lastEventId: 'forged', events: ['reset'] })
  ;(await server.next()).ready('now').event('reset', { reason: 'unknown_id', message: 'unknown' }, 'now')
  await event()
  const seen = [(await state()).state, (await state()).state, (await state()).state]
  assert.deepEqual(seen, ['connecting', 'live', 'reset'])
})

test('a connection that is silent for two and a half heartbeats is given up', async t => {
  const server = await serve(t)
  const { lost } = client(t, server.url)
  const first = await server.next()
  first.ready('r', { heartbeat: 40 })
  const { code, retryIn } = await lost()
  assert.deepEqual([code, retryIn], [408, 0])
  await first.gone
  assert.equal((await server.next()).request.headers['last-event-id'], 'r')
})

test('comments and id-only blocks are signs of life', async t => {
  const page = browser(t)
  const later = clock(t)
  const chunks = [block('ready', { heartbeat: 20_000 }), ': still here\n', 'id: b\n\n', ': and here\n']
  // Asked for the next chunk, the client has read the last one: then time passes, and the page looks.
  const pull = controller => {
    later(40_000)
    page.document('visibilitychange')
    if (chunks.length) controller.enqueue(new TextEncoder().encode(chunks.shift()))
    else controller.close()
  }
  const body = new ReadableStream({ pull }, { highWaterMark: 0 })
  const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  const { stream, lost } = client(t, 'http://test/', { fetch, readyTimeout: 50_000 })
  assert.equal((await lost()).message, 'the response ended')
  assert.equal(stream.lastEventId, 'b')
})

test('without heartbeats silence means nothing', async t => {
  const server = await serve(t)
  const page = browser(t)
  const later = clock(t)
  const { event, until } = client(t, server.url)
  const first = await server.next()
  first.ready('r', { heartbeat: 0 })
  await until('live')
  later(3_600_000)
  page.document('visibilitychange')
  first.event('change', 1, 'a')
  await event()
})

test('a page that wakes up looks at once whether it is still connected', async t => {
  for (const [where, name] of [['document', 'visibilitychange'], ['window', 'pageshow'], ['window', 'online']]) {
    await t.test(name, async t => {
      const server = await serve(t)
      const page = browser(t)
      const later = clock(t)
      const { lost, until } = client(t, server.url)
      const first = await server.next()
      first.ready('r', { heartbeat: 20_000 })
      await until('live')
      page[where](name)
      later(51_000)
      page[where](name)
      assert.equal((await lost()).code, 408)
      assert.equal((await server.next()).request.headers['last-event-id'], 'r')
    })
  }
})

test('a page that looks while it waits comes back all the same', async t => {
  const server = await serve(t)
  const page = browser(t)
  const { lost, until } = client(t, server.url)
  const first = await server.next()
  first.ready('r', { retry: 50 })
  await until('live')
  first.cut()
  await lost()
  page.document('visibilitychange')
  await server.next()
})

test('a page that is online again does not wait', async t => {
  const server = await serve(t)
  const page = browser(t)
  const { lost, until } = client(t, server.url)
  const first = await server.next()
  first.ready('r', { retry: 30_000 })
  await until('live')
  first.cut()
  assert.ok((await lost()).retryIn >= 30_000)
  page.window('online')
  await server.next()
})

test('a page that is left closes, and goes on where it was when it is shown again', async t => {
  const server = await serve(t)
  const page = browser(t)
  const { until } = client(t, server.url)
  const first = await server.next()
  first.ready('r')
  await until('live')
  page.window('pagehide')
  await first.gone
  page.window('pageshow')
  const second = await server.next()
  assert.equal(second.request.headers['last-event-id'], 'r')
  second.ready('r')
  await until('resumed')
})

test('a page that is shown again at once is not disturbed by the connection it left', async t => {
  const server = await serve(t)
  const page = browser(t)
  const { state, until } = client(t, server.url)
  ;(await server.next()).ready('r')
  await until('live')
  page.window('pagehide')
  page.window('pageshow')
  ;(await server.next()).ready('r')
  assert.equal((await state()).retryIn, undefined)
  assert.equal((await state()).state, 'resumed')
})

test('after close() the page is not listened to', async t => {
  const server = await serve(t)
  const page = browser(t)
  const { stream, until } = client(t, server.url)
  ;(await server.next()).ready('r')
  await until('live')
  stream.close()
  page.window('online')
  page.window('pageshow')
  assert.equal(stream.state, 'closed')
  client(t, server.url, { lastEventId: 'marker' })
  assert.equal((await server.next()).request.headers['last-event-id'], 'marker')
})

test('an entity feed is live with its greeting', async t => {
  const server = await serve(t)
  const { event, until } = client(t, server.url, { events: ['entity.create'] })
  const first = await server.next()
  first.stream(': connected sub=17 heartbeat=20s\n\n')
  await until('live')
  first.event('entity.create', { id: 1 }, 'evt-a~1')
  assert.equal((await event()).id, 'evt-a~1')
})
