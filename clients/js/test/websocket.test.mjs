// The way around what holds server-sent events back.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browser, client } from './support/client.mjs'
import { serve } from './support/server.mjs'

/** Long enough for a busy machine, short enough to wait for. */
const SOON = 500

test('a stream that something holds back comes over WebSocket, and stays there', async t => {
  const server = await serve(t)
  const page = browser(t)
  const { event, until, lost, stream } = client(t, server.url + '?tid=acme', { lastEventId: 'kept', readyTimeout: SOON })
  const held = await server.next()
  held.stream()
  const socket = await server.next()
  await held.gone
  assert.equal(socket.peer.protocol, 'tailwater.v1')
  assert.deepEqual(Object.fromEntries(socket.url.searchParams), { tid: 'acme', lastEventId: 'kept' })
  socket.ready('kept').event('change', { operationType: 'insert' }, 'a').event('heartbeat', { id: 'b' }, 'b')
  assert.equal((await until('resumed')).transport, 'websocket')
  assert.deepEqual(await event(), { event: 'change', id: 'a', data: { operationType: 'insert' } })
  socket.event('change', 2)
  await event()
  assert.equal(stream.lastEventId, 'b')
  socket.cut()
  await lost()
  page.window('online')
  const again = await server.next()
  assert.equal(again.url.searchParams.get('lastEventId'), 'b')
  assert.equal(again.peer.protocol, 'tailwater.v1')
})

test('a WebSocket that does not open gives way to server-sent events, where statuses are seen', async t => {
  const server = await serve(t)
  const page = browser(t)
  const { lost, until } = client(t, server.url, { readyTimeout: SOON })
  await server.next()
  await lost()
  ;(await server.next()).cut()
  await lost()
  page.window('online')
  ;(await server.next()).answer(403, { body: 'no' })
  assert.equal((await until('closed')).code, 403)
})

test('who wants server-sent events gets nothing else', async t => {
  const server = await serve(t)
  const { stream, lost } = client(t, server.url, { transport: 'sse', readyTimeout: SOON })
  await server.next()
  const { code, transport } = await lost()
  assert.deepEqual([code, transport], [408, 'sse'])
  assert.equal((await server.next()).request.headers.upgrade, undefined)
  stream.close()
})

test('without a WebSocket class there is no other way', async t => {
  const server = await serve(t)
  const { lost } = client(t, server.url, { WebSocket: null, readyTimeout: SOON })
  await server.next()
  assert.equal((await lost()).transport, 'sse')
})

test('headers buy a ticket, which goes into the URL', async t => {
  const server = await serve(t)
  let count = 0
  const getHeaders = () => ({ authorization: `token ${++count}` })
  const page = browser(t)
  const { until, lost } = client(t, server.url + '?tid=a', { transport: 'websocket', getHeaders })
  for (const ticket of ['t1', 't2']) {
    const sale = await server.next()
    assert.deepEqual([sale.request.method, sale.url.pathname], ['POST', '/_/tickets'])
    assert.equal(sale.request.headers.authorization, `token ${count}`)
    assert.deepEqual(await body(sale.request), { path: '/db/coll/_streams/all' })
    sale.answer(201, { body: JSON.stringify({ ticket, expires: 30, url: 'x' }) })
    const socket = await server.next()
    assert.deepEqual([socket.url.searchParams.get('ticket'), socket.url.searchParams.get('tid')], [ticket, 'a'])
    socket.ready('r')
    await until(ticket === 't1' ? 'live' : 'resumed')
    socket.cut()
    await lost()
    page.window('online')
  }
})

test('a ticket that is refused ends the stream like any other request', async t => {
  const server = await serve(t)
  const headers = { authorization: 'x' }
  const { until } = client(t, server.url, { transport: 'websocket', headers, tickets: '/shop/_/tickets' })
  const sale = await server.next()
  assert.equal(sale.url.pathname, '/shop/_/tickets')
  sale.answer(403, { body: '{"message":"not you"}' })
  assert.equal((await until('closed')).message, 'not you')
})

test('close codes say whether to come back', async t => {
  const server = await serve(t)
  const rows = [[1008, false], [1009, false], [4404, false], [1001, true], [1011, true], [1012, true],
    [1013, true], [4401, true], [4403, true], [4408, true], [4409, true], [3000, true]]
  for (const [code, back] of rows) {
    const { stream, until, lost } = client(t, server.url, { transport: 'websocket' })
    const socket = await server.next()
    socket.ready('r').peer.close(code, 'because')
    const end = await (back ? lost() : until('closed'))
    assert.deepEqual([end.code, end.message], [code, 'because'])
    stream.close()
  }
})

test('lost history is told as a reset, and the client comes back without an id', async t => {
  const server = await serve(t)
  const page = browser(t)
  const { event, until, lost } = client(t, server.url, { transport: 'websocket', events: ['reset'] })
  const socket = await server.next()
  socket.ready('r')
  await until('live')
  socket.peer.close(4410, 'history lost')
  assert.deepEqual((await event()).data, { reason: 'history_lost', message: 'history lost' })
  await until('reset')
  await lost()
  page.window('online')
  const again = await server.next()
  assert.equal(again.url.searchParams.get('lastEventId'), null)
  again.ready('s')
  await until('live')
})

test('credentials that come after close() open no socket', async t => {
  const server = await serve(t)
  let give
  const getHeaders = () => new Promise(resolve => { give = resolve })
  const { stream, until } = client(t, server.url, { transport: 'websocket', getHeaders })
  await until('connecting')
  stream.close()
  give()
  client(t, server.url, { lastEventId: 'marker' })
  assert.equal((await server.next()).request.headers['last-event-id'], 'marker')
})

test('close() closes the socket', async t => {
  const server = await serve(t)
  const { stream, until } = client(t, server.url, { transport: 'websocket' })
  const socket = await server.next()
  socket.ready('r')
  await until('live')
  stream.close()
  await socket.gone
})

async function body (request) {
  let text = ''
  for await (const chunk of request) text += chunk
  return JSON.parse(text)
}
