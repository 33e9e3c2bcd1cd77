// Watches Tailwater streams from browsers, workers and Node.js. README.md says how.

/** Longest pause before a new attempt, unless the server asks for a longer one. Milliseconds. */
const MAX_PAUSE = 30_000

/** Longest that a server can send a client away for. */
const MAX_RETRY_AFTER = 3_600_000

/** A connection that was live for so long was a good one; no client comes back at once more often. */
const STEADY = 5_000

/**
 * HTTP statuses and close codes after which it is no use to come back. 204 ends an event stream for
 * good by the HTML standard; of 4xx, 401 may go away with new credentials and three with time.
 */
const FINAL = /^(204|4(?!01|08|25|29)\d\d|1008|1009|4404)$/

/**
 * Those that concern this client alone, or that the server spreads over time: come back at once.
 * After all others many clients would come at the same moment. 408 stands for silence, too.
 */
const AT_ONCE = /^(401|408|1001|1012|4401|4408)$/

/**
 * Watches one stream until `close()` is called, or until the server says that it is no use to come
 * back. `tailwater.d.ts` describes the options, the events and the states.
 */
export function watch (url, {
  on = {}, onState, headers, getHeaders, lastEventId: id = '', etag, transport = 'auto',
  readyTimeout = 10_000, tickets = '/_/tickets', fetch: request = fetch, WebSocket = globalThis.WebSocket
} = {}) {
  const base = new URL(url, globalThis.location?.href)
  // Several streams on one connection, whose events each say of which stream they are.
  const several = /\/_\/sse$/.test(base.pathname)
  const wantsSnapshot = base.searchParams.get('snapshot') === 'true'
  const listening = new AbortController()

  let state = 'connecting'
  // Why the last connection ended.
  let reason
  // Before a snapshot is whole, no position stands for what the page has.
  let inSnapshot = wantsSnapshot && !id
  // The connection of now; none while waiting for the next.
  let attempt
  let overSocket = transport === 'websocket'
  // The id that this connection was opened with.
  let asked
  // When it got ready; 0 before.
  let readyAt
  // How much silence is too much, and when it will be.
  let patience
  let deadline
  let timer
  let retry = 1_000
  let failures = 0
  let hurriedAt = 0
  // Whether the last credentials were refused.
  let renew = false

  async function connect () {
    abandon()
    const mine = attempt = new AbortController()
    readyAt = 0
    deadline = Infinity
    enter('connecting', reason)
    try {
      await open(mine.signal)
    } catch (outcome) {
      if (mine === attempt) drop(outcome)
    }
  }

  /** Opens a connection and reads it. Never returns: a connection ends with an outcome, thrown. */
  async function open (signal) {
    const sent = new Headers(await getHeaders?.(renew) ?? headers)
    signal.throwIfAborted()
    expect(readyTimeout)
    const ask = async (url, init) => {
      const response = await request(url, { headers: sent, signal, cache: 'no-store', ...init })
      if (response.ok && response.status !== 204) return response
      const text = await response.text()
      const after = Math.min(MAX_RETRY_AFTER, response.headers.get('retry-after') * 1_000)
      throw { code: response.status, message: json(text)?.message || text, after }
    }
    const target = new URL(base)
    const query = target.searchParams
    asked = id
    if (etag) query.set('etag', etag)
    if (id) query.delete('snapshot')
    if (!overSocket) {
      sent.set('accept', 'text/event-stream')
      if (id) sent.set('last-event-id', id)
      await readEvents(await ask(target), signal)
    }
    if (id) query.set('lastEventId', id)
    // A browser's WebSocket carries no headers: they buy a ticket, which goes into the URL.
    if ([...sent].length) {
      sent.set('content-type', 'application/json')
      const body = JSON.stringify({ path: base.pathname })
      const answer = await ask(new URL(tickets, base), { method: 'POST', body })
      query.set('ticket', (await answer.json()).ticket)
    }
    await readMessages(target, signal)
  }

  async function readEvents ({ headers, body }, signal) {
    if (!/^text\/event-stream/.test(headers.get('content-type'))) throw Error('not an event stream')
    const parse = parser(
      (...event) => signal.aborted || receive(...event),
      milliseconds => { retry = Math.min(milliseconds, MAX_PAUSE) }
    )
    const decoder = new TextDecoder()
    const reader = body.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) throw Error('the response ended')
      heard()
      parse(decoder.decode(value, { stream: true }))
    }
  }

  function readMessages (target, signal) {
    target.protocol = target.protocol.replace('http', 'ws')
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(target, 'tailwater.v1')
      signal.onabort = () => socket.close()
      // Told again by `onclose`, with a code.
      socket.onerror = () => {}
      socket.onclose = ({ code, reason }) => reject({ code, message: reason })
      socket.onmessage = ({ data }) => {
        const message = json(data)
        heard()
        if (!signal.aborted) receive(message.event, message.data, message.id)
      }
    })
  }

  /** Takes a block or message. Without data it is no event: it only moves the id. */
  function receive (event, data, newId) {
    // Entity feeds greet with a comment: any first block says that nothing holds the stream back.
    const own = several ? data?.data : data
    if (event === 'ready' || !readyAt) ready(own, newId)
    if (/^(change|snapshot-end)$/.test(event)) inSnapshot = false
    if (newId != null && !inSnapshot) id = newId
    if (data === undefined) return
    etag = (data?.fullDocument ?? data?.document)?._etag?.$oid ?? etag
    if (event === 'status') enter(own.state === 'degraded' ? 'degraded' : 'live')
    if (event === 'reset') enter(event, own)
    tell(on[event], data, { event, id: newId })
    // One stream of several that ends leaves the others alone.
    if (event === 'close' && !several) drop({ ...data, message: data.reason })
    // What the reset lost, a new snapshot brings back.
    if (event === 'reset' && wantsSnapshot) {
      id = ''
      inSnapshot = true
      drop(data)
    }
  }

  function ready (data, id) {
    readyAt = Date.now()
    renew = false
    expect(data?.heartbeat * 2.5 || Infinity)
    enter(id === asked ? 'resumed' : 'live')
  }

  function expect (silence) {
    patience = silence
    heard()
    check()
  }

  function heard () {
    deadline = Date.now() + patience
  }

  /** Gives up on a connection that has been silent for too long, or looks again when it will have been. */
  function check () {
    if (!attempt) return
    clearTimeout(timer)
    const left = deadline - Date.now()
    if (left <= 0) drop({ code: 408, message: 'nothing heard in time' })
    else if (left < Infinity) timer = setTimeout(check, left)
  }

  /** Ends the connection, and plans the next one if there is to be one. */
  function drop ({ code, message, reconnect, after }) {
    if (attempt && code === 4410) {
      id = ''
      receive('reset', { reason: 'history_lost', message })
    }
    // A handler may have closed the stream.
    if (!attempt) return
    abandon()
    reason = { code, message }
    if (reconnect === false || FINAL.test(code) || (code === 401 && (renew || !getHeaders))) return close(reason)
    renew ||= code === 401 || code === 4401
    // A WebSocket that never got ready cannot say why: statuses are seen over server-sent events.
    if (transport === 'auto' && WebSocket && !readyAt) overSocket = !overSocket && code === 408
    const now = Date.now()
    if (readyAt && now - readyAt > STEADY) failures = 0
    let pause = 0
    if (AT_ONCE.test(code) && now - hurriedAt > STEADY) hurriedAt = now
    // Jitter comes last: those whom a cap or the server sent away together do not come back together.
    else pause = Math.max(after || 0, Math.min(MAX_PAUSE, retry * 2 ** failures++)) * (1 + Math.random() / 2)
    timer = setTimeout(connect, pause)
    enter('connecting', { ...reason, retryIn: pause })
  }

  function abandon () {
    clearTimeout(timer)
    attempt?.abort()
    attempt = undefined
  }

  function close (reason) {
    abandon()
    listening.abort()
    enter('closed', reason)
  }

  function enter (next, detail) {
    if (state === 'closed') return
    state = next
    tell(onState, next, { transport: overSocket ? 'websocket' : 'sse', ...detail })
  }

  const listen = (name, handler, target = globalThis) =>
    target.addEventListener?.(name, handler, { signal: listening.signal })
  const comeBack = () => attempt ? check() : connect()
  // Phones and sleeping laptops lose connections without a word: the page looks when it is back.
  listen('visibilitychange', check, globalThis.document)
  listen('online', comeBack)
  listen('pageshow', comeBack)
  // A page that holds a connection is not kept for the way back.
  listen('pagehide', abandon)

  // Not before the caller holds the stream.
  timer = setTimeout(connect)
  return {
    close: () => close(),
    get state () { return state },
    get lastEventId () { return id }
  }
}

/**
 * Reads the text of an event stream, however it is cut. Calls `event(name, data, id)` at the end of
 * each block, the latter two undefined when it has none, and `retry(milliseconds)`.
 */
function parser (event, retry) {
  let rest = ''
  let afterReturn
  let name, data, id

  function take (line) {
    if (!line) {
      event(name || 'message', data && json(data.join('\n')), id)
      name = data = id = undefined
      return
    }
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line)
    if (field === 'event') name = value
    if (field === 'data') (data ??= []).push(value)
    if (field === 'id' && !value.includes('\0')) id = value
    if (field === 'retry' && /^\d+$/.test(value)) retry(value)
  }

  return text => {
    // A line break may be cut in two.
    if (afterReturn && text[0] === '\n') text = text.slice(1)
    afterReturn = text.endsWith('\r')
    const lines = text.split(/\r\n|\r|\n/)
    lines[0] = rest + lines[0]
    rest = lines.pop()
    lines.forEach(take)
  }
}

function json (text) {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Calls a handler of the page, whose faults are reported there and do not end the stream. */
function tell (handler, subject, detail) {
  try {
    handler?.(subject, detail)
  } catch (error) {
    queueMicrotask(() => { throw error })
  }
}
