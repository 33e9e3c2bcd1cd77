// Opens a WebSocket and prints what happens to it.
//
//   page       the page to open first
//   url        the stream, ws: or wss:
//   protocols  the subprotocols to offer
//   count      ends after so many messages; without it, when the test closes standard input
//   headers    sent with every HTTP request, the page's included
//
// Each line on standard input is sent as one text message.
// Prints {type: "open", protocol}, {type: "message", data}, {type: "close", code, reason, wasClean}.

import { run } from './page.mjs'

await run(args => {
  const socket = new WebSocket(args.url, args.protocols ?? [])
  let left = args.count ?? Infinity
  window.onLine = text => socket.send(text)
  socket.onopen = () => window.report({ type: 'open', protocol: socket.protocol })
  socket.onmessage = async ({ data }) => {
    if (left === 0) return
    left -= 1
    const last = left === 0
    await window.report({ type: 'message', data })
    if (last) window.finish()
  }
  socket.onclose = async ({ code, reason, wasClean }) => {
    await window.report({ type: 'close', code, reason, wasClean })
    window.finish()
  }
})
