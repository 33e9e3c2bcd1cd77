// Watches a stream with the client module and keeps the documents that it tells of.
//
//   page     the page to open first, of the same origin as `url`
//   url      the stream
//   module   the text of clients/js/tailwater.js
//   options  what it takes besides handlers
//
// A line on standard input fires the window's event of that name.
// With `?snapshot=true` in the URL, documents come first, anew after each connection that is not resumed;
// {type: "snapshot", count} is printed with each hundredth document, {type: "whole"} with the last.
// Prints {type: "state", state, transport, code?, message?, retryIn?} for each state and, when the
// document whose `_id` is "end" arrives, {type: "end", documents, changes, repeated, resets}:
// `documents` maps each `_id` to the document's `n`.

import { run } from './page.mjs'

await run(async args => {
  const module = URL.createObjectURL(new Blob([args.module], { type: 'text/javascript' }))
  const { watch } = await import(module)
  const documents = {}
  const seen = new Set()
  let [changes, resets] = [0, 0]

  function change ({ operationType, documentKey, fullDocument }, { id }) {
    changes += 1
    seen.add(id)
    if (operationType === 'delete') delete documents[documentKey._id]
    // Gone by the time of the look-up: its delete follows.
    if (fullDocument) documents[documentKey._id] = fullDocument.n
    if (documentKey._id === 'end') end()
  }

  function snapshot ({ document }) {
    documents[document._id] = document.n
    const count = Object.keys(documents).length
    if (count % 100 === 0) window.report({ type: 'snapshot', count })
  }

  function ready () {
    if (args.url.includes('snapshot=true') && stream.state !== 'resumed') {
      for (const id of Object.keys(documents)) delete documents[id]
    }
  }

  function end () {
    window.report({ type: 'end', documents, changes, repeated: changes - seen.size, resets })
  }

  window.onLine = name => window.dispatchEvent(new Event(name))
  const stream = watch(args.url, {
    ...args.options,
    onState: (state, info) => window.report({ type: 'state', state, ...info }),
    on: {
      ready,
      snapshot,
      'snapshot-end': () => window.report({ type: 'whole' }),
      change,
      reset: () => { resets += 1 }
    }
  })
})
