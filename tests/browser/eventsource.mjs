// Opens an EventSource and prints what happens to it.
//
//   page             the page to open first; of the same origin as `url`, or CORS is what is tested
//   url              the stream
//   events           the names of events to listen for; `message` is what has no name
//   count            ends after so many events; without it, when the test closes standard input
//   withCredentials  sends cookies across origins
//   headers          sent with every request, the page's included
//
// Prints {type: "open"}, {type: "event", event, data, lastEventId}, {type: "error", readyState}:
// readyState is 0 when the browser connects again by itself, 2 when it gave up.

import { run } from './page.mjs'

await run(args => {
  const source = new EventSource(args.url, { withCredentials: args.withCredentials ?? false })
  let left = args.count ?? Infinity
  source.onopen = () => window.report({ type: 'open' })
  source.onerror = () => window.report({ type: 'error', readyState: source.readyState })
  for (const name of args.events) {
    source.addEventListener(name, async ({ type, data, lastEventId }) => {
      // The server's own `error` event would carry data; the browser's has none.
      if (data === undefined || left === 0) return
      left -= 1
      const last = left === 0
      if (last) source.close()
      await window.report({ type: 'event', event: type, data, lastEventId })
      if (last) window.finish()
    })
  }
})
