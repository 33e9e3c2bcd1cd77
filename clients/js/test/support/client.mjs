// A client whose states and events the test takes out in order.

import { WebSocket } from 'ws'
import { watch } from '../../tailwater.js'
import { mailbox } from './server.mjs'

/** Watches until the test `t` is over. */
export function client (t, url, { events = ['change'], on, ...options } = {}) {
  const states = mailbox()
  const received = mailbox()
  const handlers = events.map(name => [name, (data, info) => received.put({ data, ...info })])
  const stream = watch(url, {
    WebSocket,
    onState: (state, info) => states.put({ state, ...info }),
    on: { ...Object.fromEntries(handlers), ...on },
    ...options
  })
  t.after(stream.close)
  return {
    stream,
    event: received.take,
    state: states.take,
    /** The next such state; others are passed over. */
    async until (wanted) {
      for (;;) {
        const info = await states.take()
        if (info.state === wanted) return info
      }
    },
    /** Waits until the connection is lost, and says why and for how long. */
    async lost () {
      for (;;) {
        const info = await states.take()
        if (info.retryIn !== undefined) return info
      }
    }
  }
}

/** Lets the module find a window and a document, which the test `t` sends events to. */
export function browser (t) {
  const [window, document] = [new EventTarget(), new EventTarget()]
  globalThis.document = document
  globalThis.addEventListener = window.addEventListener.bind(window)
  t.after(() => {
    delete globalThis.document
    delete globalThis.addEventListener
  })
  const fire = (target, name) => target.dispatchEvent(new Event(name))
  return { window: name => fire(window, name), document: name => fire(document, name) }
}

/** A clock that can be put forward, by milliseconds. */
export function clock (t) {
  const { now } = Date
  let ahead = 0
  t.mock.method(Date, 'now', () => now.call(Date) + ahead)
  return milliseconds => { ahead += milliseconds }
}
