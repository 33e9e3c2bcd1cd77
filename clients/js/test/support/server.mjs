// A server that does what the test says, one connection after the other.

import { createServer } from 'node:http'
import { WebSocketServer } from 'ws'

/** Listens on a free port until the test `t` is over. */
export async function serve (t) {
  const arrivals = mailbox()
  const sockets = new WebSocketServer({ noServer: true })
  const server = createServer((request, response) => arrivals.put(new Exchange(request, response)))
  server.on('upgrade', (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, peer => arrivals.put(new Conversation(request, peer)))
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    sockets.clients.forEach(peer => peer.terminate())
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${server.address().port}`
  return { origin, url: `${origin}/db/coll/_streams/all`, next: arrivals.take }
}

/** A request of HTTP and its answer. */
class Exchange {
  constructor (request, response) {
    Object.assign(this, { request, response, url: new URL(request.url, 'http://test'), gone: gone(response) })
  }

  /** Begins an event stream. */
  stream (text = '') {
    this.response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    this.response.flushHeaders()
    return this.send(text)
  }

  /** The same, with the first frame of the contract. */
  ready (id, { heartbeat = 0, retry = 1 } = {}) {
    return this.stream(`retry: ${retry}\n` + block('ready', { id, heartbeat }, id))
  }

  send (text) {
    this.response.write(text)
    return this
  }

  event (event, data, id) {
    return this.send(block(event, data, id))
  }

  /** Answers with a status. */
  answer (status, { body = '', ...headers } = {}) {
    this.response.writeHead(status, headers).end(body)
  }

  /** What networks do. */
  cut () {
    this.response.socket.destroy()
  }
}

/** A WebSocket. */
class Conversation {
  constructor (request, peer) {
    Object.assign(this, { request, peer, url: new URL(request.url, 'http://test'), gone: gone(peer) })
  }

  ready (id, { heartbeat = 0 } = {}) {
    return this.event('ready', { id, heartbeat }, id)
  }

  event (event, data, id = null) {
    this.peer.send(JSON.stringify({ id, event, data }))
    return this
  }

  cut () {
    this.peer.terminate()
  }
}

export function block (event, data, id) {
  return `${id ? `id: ${id}\n` : ''}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

/** What is put in is taken out in order; who comes early waits. */
export function mailbox () {
  const items = []
  const waiting = []
  return {
    put: item => waiting.length ? waiting.shift()(item) : items.push(item),
    take: () => items.length ? Promise.resolve(items.shift()) : new Promise(resolve => waiting.push(resolve))
  }
}

function gone (emitter) {
  return new Promise(resolve => emitter.once('close', resolve))
}
