// Server-sent events: what is asked for, and when a client comes back.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browser, client, clock } from './support/client.mjs'
import { serve } from './support/server.mjs'

const between = (value, least, most) => assert.ok(value >= least && value <= most, `${value} in ${least}..${most}`)

test('a stream is asked for as the contract says, and its events arrive', async t => {
  const server = await serve(t)
  const { stream, event } = client(t, server.url + '?tid=acme', { headers: { authorization: 'Bearer x' } })
  assert.equal(stream.state, 'connecting')
  const first = await server.next()
  const { headers } = first.request
  assert.equal(headers.accept, 'text/event-stream')
  assert.equal(headers.authorization, 'Bearer x')
  assert.equal(headers['last-event-id'], undefined)
  assert.equal(first.url.search, '?tid=acme')
  first.ready('r').event('change', { operationType: 'insert' }, 'a')
  assert.deepEqual(await event(), { event: 'change', id: 'a', data: { operationType: 'insert' } })
  assert.deepEqual([stream.state, stream.lastEventId], ['live', 'a'])
})

test('a client that was cut comes back with the last id, that of a heartbeat too', async t => {
  const server = await serve(t)
  const { stream, event, until } = client(t, server.url)
  const first = await server.next()
  first.ready('r').event('change', 1, 'a')
  await event()
  first.cut()
  const second = await server.next()
  assert.equal(second.request.headers['last-event-id'], 'a')
  second.ready('a').send(': heartbeat\nid: b\n\n').event('change', 2)
  await until('resumed')
  assert.equal((await event()).data, 2)
  second.response.end()
  const third = await server.next()
  assert.equal(third.request.headers['last-event-id'], 'b')
  assert.equal(stream.lastEventId, 'b')
})

test('an id that the page kept is where it goes on', async t => {
  const server = await serve(t)
  const { state } = client(t, server.url, { lastEventId: 'kept' })
  const first = await server.next()
  assert.equal(first.request.headers['last-event-id'], 'kept')
  first.ready('kept')
  assert.deepEqual([(await state()).state, (await state()).state], ['connecting', 'resumed'])
})

test('the newest _etag is told, so that a reset says how to recover', async t => {
  const server = await serve(t)
  const [old, next] = ['62166d53ebdcd56455a1a7aa', '62166d53ebdcd56455a1a7ab']
  const { event } = client(t, server.url, { etag: old })
  const first = await server.next()
  assert.equal(first.url.searchParams.get('etag'), old)
  first.ready('r').event('change', { fullDocument: { _etag: { $oid: next } } }, 'a')
  await event()
  first.event('change', { operationType: 'delete' }, 'b')
  await event()
  first.cut()
  assert.equal((await server.next()).url.searchParams.get('etag'), next)
})

test('statuses that time does not change end the stream, with the reason', async t => {
  const server = await serve(t)
  for (const status of [204, 400, 403, 404, 405, 410, 422]) {
    const { stream, until } = client(t, server.url)
    const message = `because of ${status}`
    const body = status === 204 ? '' : JSON.stringify({ 'http status code': status, message })
    ;(await server.next()).answer(status, { body })
    const closed = await until('closed')
    assert.deepEqual([closed.code, closed.message], [status, status === 204 ? '' : message])
    assert.equal(stream.state, 'closed')
  }
})

test('statuses that time changes are tried again', async t => {
  const server = await serve(t)
  for (const status of [408, 425, 429, 500, 502, 503, 504]) {
    const { stream, lost } = client(t, server.url)
    const attempt = await server.next()
    attempt.answer(status, { body: 'not now' })
    const { code, message } = await lost()
    assert.deepEqual([code, message], [status, 'not now'])
    stream.close()
  }
})

test('a server that says when is believed, and jitter keeps those who wait apart', async t => {
  const server = await serve(t)
  for (const [asked, least] of [['7', 7_000], ['86400', 3_600_000], ['soon', 1_000]]) {
    const { stream, lost } = client(t, server.url)
    ;(await server.next()).answer(503, { 'retry-after': asked })
    between((await lost()).retryIn, least, least * 1.5)
    stream.close()
  }
})

test('the delay that `retry` names is kept, with jitter', async t => {
  const server = await serve(t)
  const { lost, until } = client(t, server.url)
  const first = await server.next()
  first.ready('r', { retry: 4_000 })
  await until('live')
  first.cut()
  between((await lost()).retryIn, 4_000, 6_000)
})

test('pauses grow up to a cap, and jitter comes after it', async t => {
  const server = await serve(t)
  const page = browser(t)
  t.mock.method(Math, 'random', () => 0.5)
  const { lost } = client(t, server.url)
  const pauses = []
  for (let round = 0; round < 7; round++) {
    (await server.next()).answer(503)
    pauses.push((await lost()).retryIn)
    page.window('online')
  }
  assert.deepEqual(pauses, [1, 2, 4, 8, 16, 30, 30].map(seconds => seconds * 1_250))
})

test('after a connection that lasted, pauses are short again', async t => {
  const server = await serve(t)
  const later = clock(t)
  const { lost, until } = client(t, server.url)
  for (const [lived, factor] of [[0, 1], [0, 2], [4_000, 4], [6_000, 1], [0, 2]]) {
    const attempt = await server.next()
    attempt.ready('r', { retry: 10 })
    await until(attempt.request.headers['last-event-id'] ? 'resumed' : 'live')
    later(lived)
    attempt.cut()
    between((await lost()).retryIn, 10 * factor, 15 * factor)
  }
})

test('an answer that is no event stream is none, and neither is a broken connection', async t => {
  const server = await serve(t)
  const { stream, lost } = client(t, server.url)
  ;(await server.next()).answer(200, { body: 'Welcome to the hotel', 'content-type': 'text/html' })
  assert.equal((await lost()).message, 'not an event stream')
  stream.close()
  const other = client(t, server.url)
  ;(await server.next()).cut()
  assert.equal((await other.lost()).code, undefined)
})

test('credentials are asked for before each connection', async t => {
  const server = await serve(t)
  let count = 0
  const { until } = client(t, server.url, { getHeaders: async () => ({ authorization: `token ${++count}` }) })
  for (const expected of ['token 1', 'token 2']) {
    const attempt = await server.next()
    assert.equal(attempt.request.headers.authorization, expected)
    attempt.ready('r')
    await until(count === 1 ? 'live' : 'resumed')
    attempt.cut()
  }
})

test('refused credentials are renewed once, and then the stream ends', async t => {
  const server = await serve(t)
  const asked = []
  const getHeaders = renew => { asked.push(renew) }
  const { until } = client(t, server.url, { getHeaders })
  ;(await server.next()).answer(401)
  ;(await server.next()).answer(401)
  assert.equal((await until('closed')).code, 401)
  assert.deepEqual(asked, [false, true])
})

test('credentials that were renewed count as good again', async t => {
  const server = await serve(t)
  const asked = []
  const { lost, until } = client(t, server.url, { getHeaders: renew => { asked.push(renew) } })
  ;(await server.next()).answer(401)
  const good = await server.next()
  good.ready('r')
  await until('live')
  good.cut()
  await lost()
  ;(await server.next()).answer(401)
  const expired = { code: 4401, reason: 'credentials expired', reconnect: true }
  ;(await server.next()).ready('r').event('close', expired)
  await server.next()
  assert.deepEqual(asked, [false, true, false, true, true])
})

test('refused credentials that cannot be renewed end the stream', async t => {
  const server = await serve(t)
  const { until } = client(t, server.url, { headers: { authorization: 'Basic x' } })
  ;(await server.next()).answer(401)
  assert.equal((await until('closed')).code, 401)
})

test('credentials that cannot be had now are asked for again', async t => {
  const server = await serve(t)
  const page = browser(t)
  let away = true
  const getHeaders = async () => {
    if (away) throw Error('the identity provider is away')
    return { authorization: 'token' }
  }
  const { lost } = client(t, server.url, { getHeaders })
  assert.equal((await lost()).message, 'the identity provider is away')
  away = false
  page.window('online')
  assert.equal((await server.next()).request.headers.authorization, 'token')
})

test('a server that says goodbye for good is believed', async t => {
  const server = await serve(t)
  for (const [code, reason] of [[4404, 'stream gone'], [1008, 'forbidden'], [4999, 'some day']]) {
    const { until, event } = client(t, server.url, { events: ['close'] })
    const goodbye = { code, reason, reconnect: false }
    ;(await server.next()).ready('r').event('close', goodbye)
    assert.deepEqual((await event()).data, goodbye)
    const closed = await until('closed')
    assert.deepEqual([closed.code, closed.message], [code, reason])
  }
})

test('a goodbye that concerns one client brings it back at once, though not over and over', async t => {
  const server = await serve(t)
  for (const code of [1001, 1012, 4401, 4408]) {
    const { stream, lost } = client(t, server.url)
    const goodbye = { code, reason: 'bye', reconnect: true }
    ;(await server.next()).ready('r', { retry: 20_000 }).event('close', goodbye)
    assert.equal((await lost()).retryIn, 0)
    const again = await server.next()
    assert.equal(again.request.headers['last-event-id'], 'r')
    again.ready('r').event('close', goodbye)
    assert.notEqual((await lost()).retryIn, 0)
    stream.close()
  }
})

test('a goodbye that all clients hear at once brings them back apart', async t => {
  const server = await serve(t)
  for (const code of [1011, 1013, 4403, 4409]) {
    const { stream, lost } = client(t, server.url)
    ;(await server.next()).ready('r', { retry: 3_000 }).event('close', { code, reason: 'bye', reconnect: true })
    between((await lost()).retryIn, 3_000, 4_500)
    stream.close()
  }
})

test('nothing is heard after close()', async t => {
  const server = await serve(t)
  const { stream, event, until } = client(t, server.url, {
    on: { last: () => stream.close() }
  })
  const first = await server.next()
  first.ready('r').event('change', 1, 'a').event('last', 0, 'b').event('change', 2, 'c')
  await event()
  assert.deepEqual(await until('closed'), { state: 'closed', transport: 'sse' })
  await first.gone
  assert.deepEqual([stream.state, stream.lastEventId], ['closed', 'b'])
})

test('a handler that fails ends nothing', async t => {
  const server = await serve(t)
  const failed = uncaught(t)
  const { event } = client(t, server.url, { on: { skipped () { throw Error('the page is wrong') } } })
  ;(await server.next()).ready('r').event('skipped', { reason: 'too large' }).event('change', 1, 'a')
  assert.equal((await failed).message, 'the page is wrong')
  assert.equal((await event()).data, 1)
})

/** The next error that nobody catches; it would end the test's process. */
function uncaught (t) {
  const { queueMicrotask } = globalThis
  return new Promise(resolve => {
    t.mock.method(globalThis, 'queueMicrotask', task => queueMicrotask(() => {
      try {
        task()
      } catch (error) {
        resolve(error)
      }
    }))
  })
}
