// How the bytes of an event stream are read: https://html.spec.whatwg.org/#parsing-an-event-stream

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watch } from '../tailwater.js'

const bytes = text => new TextEncoder().encode(text)

/** Feeds exactly these chunks; gives the events as [name, data, id] and the last id at the end. */
async function read (...chunks) {
  const seen = []
  const on = new Proxy({}, { get: (_, name) => (data, { id }) => seen.push([name, data, id]) })
  let stream
  await new Promise(resolve => {
    const body = new ReadableStream({
      start (controller) {
        for (const chunk of chunks) controller.enqueue(typeof chunk === 'string' ? bytes(chunk) : chunk)
        controller.close()
      }
    })
    const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    const onState = (_, { message }) => message && resolve()
    stream = watch('http://test/', { fetch, on, onState })
  })
  stream.close()
  return { seen, last: stream.lastEventId }
}

async function check (chunks, seen, last = '') {
  assert.deepEqual(await read(...chunks), { seen, last })
}

const A = ['change', 1, 'a']

test('lines end with LF, CR or CRLF', async () => {
  for (const end of ['\n', '\r', '\r\n']) {
    await check([['id: a', 'event: change', 'data: 1', '', ''].join(end)], [A], 'a')
  }
  await check(['id: a\revent: change\r\ndata: 1\n\r\n'], [A], 'a')
})

test('it does not matter where the bytes are cut', async () => {
  const text = 'id: a\r\nevent: change\r\ndata: "é€😀"\r\n\r\ndata: 2\r\n\r\n'
  const seen = [['change', 'é€😀', 'a'], ['message', 2, undefined]]
  await check([...bytes(text)].map(byte => new Uint8Array([byte])), seen, 'a')
  await check(['id: a\r', '\nevent: change\r', '\ndata: 1\r', '\n\r', '\n'], [A], 'a')
})

test('a block with nothing but an id moves the id and is no event', async () => {
  await check([': heartbeat\nid: b\n\n'], [], 'b')
  await check(['id: a\nevent: change\ndata: 1\n\nid: b\n\n'], [A], 'b')
})

test('comments and unknown fields are passed over', async () => {
  await check([':\n: x\n:data: 9\nnonsense\nfoo: bar\ndata: 1\n\n'], [['message', 1, undefined]])
})

test('several lines of data are one', async () => {
  await check(['data: {"a":\ndata: 1}\n\n'], [['message', { a: 1 }, undefined]])
  await check(['data: x\ndata\ndata:y\ndata:  z\n\n'], [['message', 'x\n\ny\n z', undefined]])
})

test('data that is no JSON is handed over as text', async () => {
  await check(['data: {oops\n\n'], [['message', '{oops', undefined]])
  await check(['data:\n\n'], [['message', '', undefined]])
  await check(['data: null\n\n'], [['message', null, undefined]])
})

test('a byte order mark is no part of the first line', async () => {
  await check(['\uFEFFdata: 1\n\n'], [['message', 1, undefined]])
})

test('what is cut off is no event, and its id does not count', async () => {
  await check(['id: a\nevent: change\ndata: 1\n\nid: b\ndata: 2\n'], [A], 'a')
})

test('an event without data is none', async () => {
  await check(['event: change\n\ndata: 1\n\n'], [['message', 1, undefined]])
})

test('an empty id forgets the last one, an id with NUL is none', async () => {
  await check(['id: a\n\nid\n\n'], [], '')
  await check(['id: a\n\nid: b\0\n\n'], [], 'a')
})

test('line separators of Unicode end no line', async () => {
  await check(['data: "a\u2028b\u0085c"\n\n'], [['message', 'a\u2028b\u0085c', undefined]])
})
