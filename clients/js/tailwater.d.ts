/** What a handler gets besides the event's data. */
export interface EventInfo {
  event: string
  /** The event's position; absent on events that do not move it. */
  id?: string | null
}

/**
 * | State | The page |
 * |---|---|
 * | `connecting` | hears nothing now; `retryIn` says how long until the next attempt |
 * | `live` | hears every change from here on |
 * | `resumed` | is live again and has missed nothing |
 * | `degraded` | is connected to a service that does not hear from MongoDB; nothing is lost yet |
 * | `reset` | is live, but may have missed changes: see the `reset` event |
 * | `closed` | hears nothing any more; `code` and `message` say why, unless `close()` was called |
 */
export type State = 'connecting' | 'live' | 'resumed' | 'degraded' | 'reset' | 'closed'

export interface StateInfo {
  transport: 'sse' | 'websocket'
  /**
   * Why the last connection ended: an HTTP status, or a close code of the wire contract. 408 stands
   * for silence; absent when the connection broke.
   */
  code?: number
  message?: string
  /** `connecting`: milliseconds until the next attempt; absent when it is being made. */
  retryIn?: number
}

export type Handler = (data: any, info: EventInfo) => void

export interface Options {
  /**
   * Handlers by the event's name: `change`, `reset`, `skipped`, `leave`, `snapshot`, `snapshot-end`,
   * `ready`, `status`, `close`, and any other that the stream has. The data is parsed JSON, or the
   * text where it is none. What a handler throws is reported as uncaught and ends nothing.
   */
  on?: Record<string, Handler>
  onState?: (state: State, info: StateInfo) => void
  /** Sent with every request; over WebSocket they buy a ticket. */
  headers?: HeadersInit
  /**
   * Called before each connection instead of `headers`. `renew` is true when the last credentials
   * were refused or have expired; when the new ones are refused too, the stream is closed.
   */
  getHeaders?: (renew: boolean) => HeadersInit | undefined | Promise<HeadersInit | undefined>
  /** Where to go on from. Here, not in the URL. */
  lastEventId?: string
  /** The newest `_etag` that the page has, 24 hexadecimal digits; kept up to date from the events. */
  etag?: string
  /** `auto` begins with server-sent events and changes to WebSocket when something holds them back. */
  transport?: 'auto' | 'sse' | 'websocket'
  /** How long a new connection may stay silent, milliseconds. 10000 unless given. */
  readyTimeout?: number
  /** Where tickets are sold. `/_/tickets` unless given. */
  tickets?: string | URL
  /** Instead of the global function; for `credentials: 'include'`, or for tests. */
  fetch?: typeof fetch
  /** Instead of the global class, which Node.js lacks before version 22. */
  WebSocket?: any
}

export interface Stream {
  /** Ends the stream for good. */
  close (): void
  readonly state: State
  /** The position to go on from; empty before there is one. */
  readonly lastEventId: string
}

/**
 * Watches one stream until `close()` is called, or until the server says that it is no use to come
 * back.
 *
 * @throws TypeError when the URL is none
 */
export function watch (url: string | URL, options?: Options): Stream
