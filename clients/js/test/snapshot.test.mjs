// `?snapshot=true`: the documents first, then the changes, whatever happens in between.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { client } from './support/client.mjs'
import { serve } from './support/server.mjs'

const events = ['snapshot', 'snapshot-end', 'change', 'reset']
const document = n => ({ document: { _id: n } })
const asked = ({ request, url }) => [request.headers['last-event-id'], url.searchParams.get('snapshot')]

async function start (t) {
  const server = await serve(t)
  return { server, ...client(t, server.url + '?snapshot=true', { events }) }
}

test('a snapshot that was cut begins anew', async t => {
  const { server, event, until } = await start(t)
  const first = await server.next()
  assert.deepEqual(asked(first), [undefined, 'true'])
  first.ready('r').event('snapshot', document(1))
  assert.deepEqual((await event()).data, document(1))
  first.cut()
  const second = await server.next()
  assert.deepEqual(asked(second), [undefined, 'true'])
  await until('live')
})

test('a snapshot that is whole is not asked for again', async t => {
  const { server, event, stream } = await start(t)
  const first = await server.next()
  first.ready('r').event('snapshot', document(1)).event('snapshot-end', {}, 's')
  await event()
  await event()
  assert.equal(stream.lastEventId, 's')
  first.cut()
  assert.deepEqual(asked(await server.next()), ['s', null])
})

test('a reset brings a new snapshot', async t => {
  const { server, event } = await start(t)
  const first = await server.next()
  first.ready('r', { retry: 1 }).event('snapshot-end', {}, 's').event('reset', { reason: 'history_lost', message: 'lost' }, 'n')
  await event()
  assert.equal((await event()).event, 'reset')
  assert.deepEqual(asked(await server.next()), [undefined, 'true'])
})

test('so does lost history', async t => {
  const { server, event } = await start(t)
  const goodbye = { code: 4410, reason: 'history lost', reconnect: true }
  ;(await server.next()).ready('r').event('snapshot-end', {}, 's').event('close', goodbye)
  await event()
  assert.equal((await event()).event, 'reset')
  assert.deepEqual(asked(await server.next()), [undefined, 'true'])
})
